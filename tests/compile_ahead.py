"""Compile the loops of learners, the last ones first, and keep them on disk: `make` runs this while pip installs the rest.

One core would be idle meanwhile. The compiled part of the tests, which begins with the first learners, reads what it finds.
"""

import numpy as np

import lewa
from lewa.games import Table
from lewa.learners import ALL, make


def main() -> None:
    rng = np.random.default_rng(0)
    game = Table(rng.random((2, 3)), rng.random((2, 3, 1)))
    for name in reversed(ALL):
        lewa.play(make(name, 3, 100, 0.4), game)


if __name__ == "__main__":
    main()
