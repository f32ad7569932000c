"""The laws that every learner and every game must obey; `check` tests a learner or a game against them."""

from lewa.checks import games, learners
from lewa.checks.laws import Result
from lewa.game import Game
from lewa.learners import examine
from lewa.validation import short_repr


def check(subject: object) -> list[Result]:
    """Test a class of learners, a game or a class of games against every law that it must obey.

    >>> import lewa
    >>> results = lewa.checks.check(lewa.games.Bernoulli)
    >>> [result.law for result in results if result.sentence]
    []
    """
    if isinstance(subject, Game) or (isinstance(subject, type) and issubclass(subject, Game)):
        return games.check(subject)
    if hasattr(subject, "learn"):
        kind = subject if isinstance(subject, type) else type(subject)
        examine(kind, kind.__name__)
        return learners.check(kind)
    raise ValueError(
        f"the subject must be a learner, which has `learn`, or a subclass of lewa.games.Game, got {short_repr(subject)}"
    )


__all__ = ["Result", "check", "games", "learners"]
