"""Write the figures of benchmarks/RESULTS.md into the pages that quote them: `python -m benchmarks.quote`.

`benchmarks.write` does so after it has measured. A quoted table stands between two marks, and tests/docs/test_documents.py
compares it with what is measured.
"""

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "RESULTS.md"
START, END = "<!-- speed: written by make bench -->", "<!-- end of speed -->"
README_ROWS = (
    ("LEWA, full information", "10", "LEWA against C, K = 10", "{0} the time of a loop written in C"),
    ("BanditLEWA", "10", "BanditLEWA against C, K = 10", "{0} the time of a loop written in C"),
    ("BanditLEWA", "1,000,000", "bandit-lewa, K = 1,000,000 against K = 10", "{1:.0f}x its time with 10 actions"),
    (
        "`pull` and `update` of an agent",
        "10",
        "an agent's pull and update against mabwiser's UCB1, K = 10",
        "{1:.0f}x faster than UCB1 in mabwiser",
    ),
)
PRACTICAL_ROWS = (
    "paced-hedge against lewa, K = 10",
    "paced-hedge against lewa, K = 100",
    "squarecb-lewa against bandit-lewa, K = 10",
    "squarecb-lewa against bandit-lewa, K = 100",
)


class Measured(NamedTuple):
    """A row of the first table of RESULTS.md."""

    nanoseconds: str
    ratio: str
    goal: str
    met: str


def measured(text: str) -> dict[str, Measured]:
    """Return the rows of the first table by their titles."""
    rows = re.findall(r"^\| (.*?) \| ([\d,]*) \| ([\d.,]*x?) \| (.*?) \| (.*?) \|$", text, flags=re.MULTILINE)
    return {title: Measured(*cells) for title, *cells in rows}


def readme_table(text: str) -> str:
    """Return the table of the first page."""
    rows, lines = measured(text), ["| one round of | actions | time | compared with |", "|---|---|---|---|"]
    for what, actions, title, words in README_ROWS:
        row = rows[title]
        ratio = float(row.ratio.rstrip("x").replace(",", ""))
        lines.append(f"| {what} | {actions} | {row.nanoseconds} ns | {words.format(row.ratio, ratio)} |")
    return "\n".join(lines)


def practical_table(text: str) -> str:
    """Return the table of the practical learners."""
    rows, lines = measured(text), ["| learner, compared with | ns per round | ratio | goal | met |", "|---|---|---|---|---|"]
    lines += [f"| {title} | {' | '.join(rows[title])} |" for title in PRACTICAL_ROWS]
    return "\n".join(lines)


PAGES = {ROOT / "README.md": readme_table, ROOT / "docs" / "theory_practical.md": practical_table}


def quoted(page: str, table: str) -> str:
    """Return a page with the table between its marks."""
    before, start, rest = page.partition(START)
    _, end, after = rest.partition(END)
    if not (start and end):
        raise ValueError(f"the page must have the marks {START} and {END}")
    return f"{before}{START}\n\n{table}\n\n{END}{after}"


def write_quotes() -> None:
    """Write the tables into their pages."""
    results = RESULTS.read_text()
    for path, table in PAGES.items():
        path.write_text(quoted(path.read_text(), table(results)))


if __name__ == "__main__":
    write_quotes()
