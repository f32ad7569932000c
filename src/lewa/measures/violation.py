"""Violation: by how much the floors were missed; and the certificate of it that a run carries itself."""

import numpy as np

from lewa.rounds import Cube, Matrix, Trace


def violation(trace: Trace, realised: bool = False) -> Matrix:
    """[sum_t (floor - p_t.c)]+ after the last round, (S, m): rounds above the line make up for rounds below it.

    `realised` takes the constraints that were revealed, of the action drawn under bandit feedback, for the mean c.
    """
    net: Matrix = np.maximum((trace.revealed if realised else trace.shortfall)[:, -1], 0.0)
    return net


def violation_curve(trace: Trace) -> Cube:
    """The same at each mark, (S, n, m)."""
    net: Cube = np.maximum(trace.shortfall, 0.0)
    return net


def positive_violation(trace: Trace) -> Matrix:
    """sum_t [floor - p_t.c]+ after the last round, (S, m): nothing makes up for a round below the line."""
    return trace.positive[:, -1]


def certificate(trace: Trace) -> Matrix:
    """lambda_{T+1}/mu + delta sum_t lambda_t, (S, m): a bound on V' that holds on every run, whatever the world did.

    V' is what the learner's own dual step saw fall short: sum(floor - p_t.c_t) for LEWA, sum(floor - q_t.chat_t) for
    BanditLEWA, sum(floor - p_t.cbar_t - alpha_t) for High-Probability LEWA. It follows by adding up
    lambda_{t+1} >= (1 - delta mu) lambda_t + mu (floor - seen_t).
    """
    if getattr(trace.learner, "dual", None) is None:
        raise ValueError(f"{type(trace.learner).__name__} has no multiplier with one shrinkage and one step: no certificate")
    if trace.game.setting.beyond:
        raise ValueError(f"a run carries its certificate if each round is learned at once, got {trace.game.setting.beyond}")
    delta, mu = trace.learner.dual
    bound: Matrix = trace.multiplier[:, -1] / mu + delta * trace.priced[:, -1]
    return bound
