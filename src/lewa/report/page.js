// Tables sort by the column whose heading is clicked, up and then down; what has no value stays at the end.
"use strict";
for (const table of document.querySelectorAll("table")) {
  const heads = [...table.tHead.rows[0].cells];
  const body = table.tBodies[0];
  heads.forEach((head, column) => {
    head.querySelector("button").addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const numeric = head.classList.contains("number");
      const value = (row) => {
        const cell = row.cells[column];
        return numeric ? Number(cell.dataset.value ?? NaN) : cell.textContent.trim();
      };
      const compare = (a, b) => (numeric ? a - b : a.localeCompare(b, "en"));
      const rows = [...body.rows].map((row) => [value(row), row]);
      const [held, empty] = [rows.filter(([v]) => v === v), rows.filter(([v]) => v !== v)];
      held.sort(([a], [b]) => (down ? compare(b, a) : compare(a, b)));
      body.append(...[...held, ...empty].map(([, row]) => row));
    });
  });
}

// The contents are open where they stand beside the page, and what is folded is printed too.
const beside = matchMedia("(min-width: 88rem)");
const contents = document.querySelector("nav details");
const place = () => { if (contents) contents.open = beside.matches; };
beside.addEventListener("change", place);
place();
let opened = [];
addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("main details:not([open])")];
  opened.forEach((one) => { one.open = true; });
});
addEventListener("afterprint", () => opened.forEach((one) => { one.open = false; }));
