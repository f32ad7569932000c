"""The game on which BanditLEWA as printed, tuned as its proof ends, does not learn."""

from lewa.games.bernoulli import Bernoulli


class Counterexample(Bernoulli):
    """Nothing binds and one action is worthless: the printed BanditLEWA does not learn it.

    Two actions, rewards (1, 0), constraints (1, 1), for a floor of at most 1/2.

    With gamma = delta = T^(-1/2) the printed BanditLEWA moves ln(w_1/w_2) by at most 2 eta T < 1 in the whole game, so it
    plays the worthless action at least 0.377 of the time in expectation: docs/errata.md, E16, has the computation.

    >>> import lewa
    >>> learner = lewa.learners.make("bandit-lewa@printed", actions=2, horizon=10_000, floor=0.5)
    >>> trace = lewa.play(learner, lewa.games.Counterexample(), rounds=10_000, seeds=8)
    >>> f"regret {lewa.regret(trace).mean() / 10_000:.2f} a round"
    'regret 0.44 a round'
    """

    about = "two actions, one worth nothing, nothing binds: the printed BanditLEWA does not learn it"

    def __init__(self) -> None:
        super().__init__(rewards=(1.0, 0.0), constraints=((1.0, 1.0),))
