"""Updates of estimates in a round: losses and gains of bandits, running means, confidence bounds."""

from math import exp, sqrt

from lewa.feedback import Bandit
from lewa.kernels.jit import rule
from lewa.types import Matrix, Vector

STEEPEST = 700.0  # of an exponent: a larger one could overflow


@rule
def priced_loss(reward: float, lam: Vector, c: Vector) -> float:
    """(1 - r) + lam . (1 - c)"""
    loss = 1 - reward
    for j in range(lam.size):
        loss += lam[j] * (1 - c[j])
    return loss


@rule
def ix_loss(loss: float, propensity: float, gamma: float) -> float:
    """loss / (propensity + gamma), the loss of the action drawn as implicit exploration estimates it"""
    return loss / (propensity + gamma)


@rule
def effective_chance(chance: float, log_ratio: float) -> float:
    """min(1, p W_t/W), the probability that divides a late loss, with ln(W_t/W) given; never less than p"""
    return min(1.0, chance * exp(min(max(log_ratio, 0.0), STEEPEST)))


@rule
def estimate_gains(seen: Bandit, bonus: float, gain: Vector) -> None:
    """gain <- rhat + bonus / p, where rhat is r / p_i for the action i that was drawn and 0 for the others

    An action that could not be drawn, such as one that was added before the answer came, gains nothing.
    """
    for k in range(gain.size):
        gain[k] = bonus / seen.play[k] if seen.play[k] > 0 else 0.0
    gain[seen.action] += seen.reward / seen.propensity


@rule
def update_mean(mean: Vector, x: Vector, n: float, p: Vector) -> float:
    """mean <- mean + (x - mean) / n, the running mean when x is the n-th to come; return p . mean, in one pass"""
    share, z = 1 / n, 0.0
    for i in range(mean.size):
        mean[i] += (x[i] - mean[i]) * share
        z += p[i] * mean[i]
    return z


@rule
def update_means(mean: Matrix, c: Matrix, n: float) -> None:
    """mean_j <- mean_j + (c_j - mean_j) / n, for every constraint j"""
    share = 1 / n
    for j in range(mean.shape[0]):
        for i in range(mean.shape[1]):
            mean[j, i] += (c[j, i] - mean[j, i]) * share


@rule
def update_mean_of(mean: Matrix, i: int, c: Vector, n: float) -> None:
    """mean_{j,i} <- mean_{j,i} + (c_j - mean_{j,i}) / n, for every constraint j of the one action i"""
    for j in range(c.size):
        mean[j, i] += (c[j] - mean[j, i]) / n


@rule
def update_clipped_mean(total: Vector, n: float, mean: Vector, p: Vector, least: float) -> float:
    """mean <- min(total / n, 1), the mean of n non-negative estimates; return (p - least) . mean, in one pass"""
    share, z = 1 / n, 0.0
    for i in range(mean.size):
        mean[i] = min(total[i] * share, 1.0)
        z += (p[i] - least) * mean[i]
    return z


@rule
def confidence_bound(mean: float, n: float, level: float, kappa: float, corruption: float, untried: float) -> float:
    """mean + kappa sqrt(level / (2 n)) + corruption / n, clipped to [0, 1]; `untried` while n = 0"""
    return min(max(mean + kappa * sqrt(level / (2 * n)) + corruption / n, 0.0), 1.0) if n > 0 else untried


@rule
def confidence_bounds(
    mean: Matrix, n: Vector, level: float, kappa: float, corruption: float, untried: float, bound: Matrix
) -> None:
    """bound_{j,i} <- the confidence bound of every constraint j and action i"""
    for j in range(mean.shape[0]):
        for i in range(n.size):
            bound[j, i] = confidence_bound(mean[j, i], n[i], level, kappa, corruption, untried)


@rule
def confidence_bound_of(
    mean: Matrix, i: int, n: float, level: float, kappa: float, corruption: float, bound: Matrix
) -> None:
    """bound_{j,i} <- the confidence bound of every constraint j of the one action i, which was drawn n > 0 times"""
    for j in range(mean.shape[0]):
        bound[j, i] = confidence_bound(mean[j, i], n, level, kappa, corruption, 1.0)
