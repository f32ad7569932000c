"""The laws, for us and for guests: `check` puts a learner or a game of anyone's to them."""

from typing import Any

from lewa.checks import games, learners
from lewa.checks.laws import Result


def check(subject: Any) -> list[Result]:
    """Put a class of learners, or a game, to every law it has to obey.

    >>> import lewa
    >>> results = lewa.checks.check(lewa.games.Bernoulli)
    >>> [result.law for result in results if result.sentence]
    []
    """
    if hasattr(subject, "learn"):
        return learners.check(subject)
    if hasattr(subject, "block") or hasattr(subject, "reveal"):
        return games.check(subject)
    raise ValueError(f"a learner has `learn`, a game has `block` or `reveal`, got {subject!r} with none of them")


__all__ = ["Result", "check", "games", "learners"]
