// Formulas are rendered from their TeX; what stands there without a script is the formula as plain text.
"use strict";
for (const formula of document.querySelectorAll(".formula")) {
  try {
    katex.render(formula.dataset.tex, formula, { output: "html", strict: "ignore" });
  } catch (error) {
    console.error(error);
    formula.closest(".formulas")?.classList.add("failed");
  }
}
for (const block of document.querySelectorAll(".formulas:not(.failed)")) block.classList.add("typeset");
