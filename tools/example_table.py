"""Write the table that the analyst's start page begins with.

    python -m tools.example_table        writes docs/assets/queries.csv

400 queries, each answered by three simulated models: whether the answer was good, and what it cost in dollars.
"""

import numpy as np

from tools.first_picture import COST, GOOD, ROOT

TABLE = ROOT / "docs" / "assets" / "queries.csv"


def text() -> str:
    """Return the table as CSV, a row for each query and model."""
    rows = ["query,model,quality,dollars"]
    for query, (length, luck) in enumerate(np.random.default_rng(18).random((400, 2)).tolist(), start=1):
        rows += [f"{query},{model},{int(luck < GOOD[model])},{COST[model] * (0.5 + length):.6f}" for model in COST]
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    TABLE.write_text(text())
