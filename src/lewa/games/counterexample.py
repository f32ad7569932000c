"""The game on which BanditLEWA as printed, with the tuning at the end of its proof, does not learn."""

from lewa.games.bernoulli import Bernoulli


class Counterexample(Bernoulli):
    """No constraint binds and one action is worth 0, but the printed BanditLEWA does not learn it.

    There are two actions with rewards (1, 0) and constraints (1, 1), for a floor of at most 1/2.

    With gamma = delta = T^(-1/2) the printed BanditLEWA moves ln(w_1/w_2) by at most 2 eta T < 1 in the whole game, so it
    plays the worthless action at least 0.377 of the time in expectation: docs/errata.md, E16, has the computation.

    >>> import lewa
    >>> learner = lewa.learners.make("bandit-lewa@printed", actions=2, horizon=10_000, floor=0.5)
    >>> trace = lewa.play(learner, lewa.games.Counterexample(), rounds=10_000, seeds=8)
    >>> f"regret {lewa.regret(trace).mean() / 10_000:.2f} per round"
    'regret 0.44 per round'
    """

    about = "two actions, one of them worth 0, and no binding constraint: the printed BanditLEWA does not learn it"

    def __init__(self) -> None:
        super().__init__(rewards=(1.0, 0.0), constraints=((1.0, 1.0),))
