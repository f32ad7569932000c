"""Prototypes of the practical learners: two boxes, the paced price, the governor. Numba, in place, nothing drawn inside.

Costs z = 1 - c (any number, in units of the range), limits b = 1 - c0 > 0, m lines, K actions. Every state is a tuple of
float64 arrays. `par` are the constants. Order of a round:
    full    full_play(s, p)            -> nature ->  full_learn(s, par, b, r, z, p)
    bandit  bandit_play(s, p), draw a  ->  bandit_charge(s, par, b, a, charged)   (at the draw: the eager part)
                                       ->  bandit_learn(s, par, b, a, r, z, charged)   (when the answer comes, if ever)
Both `learn`s end by writing the next play into the state, so that `play` only copies it: a pure function of the state.
"""
from math import exp, log, sqrt
import numpy as np
from numba import njit

MU, REPAY = 0.005, 1000.0                       # the price: step in units of the limit; rounds over which debt is paid back
FULL_MEMORIES = (1.0, 24.0, 200.0, 5000.0, 1e18)  # rising; the last one remembers all
BANDIT_MEMORIES = (50.0, 500.0, 5000.0, 1e18)
KAPPA, BETA, STALE = 4.0, 2.0, 5000.0           # bandit: exploration 1/kappa of the theorem's, radius, memory of what was tried
RHO = 0.1                                       # weight of the prior, in answers (of a longer memory as a prior: 1)


# The paced price -----------------------------------------------------------------------------------------------------
@njit
def limit_now(b, over, repay):
    """b' = b - over/repay, held to [b/20, 2b]: what may be spent in this round so that debt is paid back."""
    return min(max(b - over / repay, b / 20), 2 * b)


@njit
def pace(lam, over, j, b, expected, mu, repay):
    """lambda <- [lambda + (mu/b^2)(expected - b')]+ ; `expected` is the cost that the forecasts give the play made."""
    lam[j] = max(0.0, lam[j] + mu / (b * b) * (expected - limit_now(b, over[j], repay)))


# Full information ------------------------------------------------------------------------------------------------------
FULL = np.array([MU, REPAY])


def full_start(K, m, b, memories=FULL_MEMORIES):
    N = len(memories)
    s = (
        np.full((N, K), 0.5),  # 0 reward: discounted means
        np.zeros((N, m, K)) + np.asarray(b, float)[None, :, None],  # 1 cost
        np.zeros((N, 1 + m)),  # 2 error: mean squared one-step error of each target, what all actions share taken out
        np.zeros(N),  # 3 behind: gains so far less the best memory's, at most 0
        np.zeros(m),  # 4 lam
        np.zeros(m),  # 5 over
        np.zeros(2),  # 6 t, Delta (AdaHedge's mixability gaps)
        np.array(memories, float),  # 7
        np.full((N, K), 1 / K),  # 8 q: each memory's play
        np.full(N, 1 / N),  # 9 W: weights of the memories
        np.zeros(N),  # 10 room: gains
        np.full(K, 1 / K),  # 11 p
    )
    return s


@njit
def full_play(s, p):
    for k in range(p.size):
        p[k] = s[11][k]


@njit
def master_step(delta, N):
    return min(log(N) / delta, 1e9) if delta > 0 and N > 1 else 1e9


@njit
def full_prepare(s, b):
    reward, cost, error, behind, lam, over, x, mem, q, W, gain, p = s
    N, K = reward.shape
    eta, total = master_step(x[1], N), 0.0
    for k in range(K):
        p[k] = 0.0
    for i in range(N):
        e = error[i, 0]
        for j in range(b.size):
            e += lam[j] * lam[j] * error[i, 1 + j]
        sharp = sqrt(log(max(K, 2)) * min(x[0], mem[i]) / max(e, 1e-18))
        top = -1e300
        for k in range(K):
            v = reward[i, k]
            for j in range(b.size):
                v -= lam[j] * cost[i, j, k]
            q[i, k] = v
            top = max(top, v)
        z = 0.0
        for k in range(K):
            q[i, k] = exp(sharp * (q[i, k] - top))
            z += q[i, k]
        W[i] = exp(eta * behind[i])
        total += W[i]
        for k in range(K):
            q[i, k] /= z
            p[k] += W[i] * q[i, k]
    for i in range(N):
        W[i] /= total
    for k in range(K):
        p[k] /= total


@njit
def full_learn(s, par, b, r, z, played):
    reward, cost, error, behind, lam, over, x, mem, q, W, gain, p = s
    N, K = reward.shape
    m = b.size
    # 1 the memories are weighed: AdaHedge on what each one's play gained at today's prices, with a share 1/(N (1 + t)) kept
    eta = master_step(x[1], N)
    earned, best, mixed = 0.0, -1e300, 0.0
    for i in range(N):
        g = 0.0
        for k in range(K):
            v = r[k]
            for j in range(m):
                v -= lam[j] * z[j, k]
            g += q[i, k] * v
        gain[i] = g
        earned += W[i] * g
        best = max(best, g)
    for i in range(N):
        mixed += W[i] * exp(max(eta * (gain[i] - best), -700.0))
    x[0] += 1
    x[1] += max(best + log(mixed) / eta - earned, 0.0)
    eta = master_step(x[1], N)
    top = -1e300
    for i in range(N):
        behind[i] += gain[i]
        top = max(top, behind[i])
    for i in range(N):
        behind[i] = max(behind[i] - top, -log(N * (1 + x[0])) / eta)
    # 2 the price, by what the memories foresaw of their own plays; then the debt, by what was spent
    for j in range(m):
        expected, spent = 0.0, 0.0
        for i in range(N):
            f = 0.0
            for k in range(K):
                f += q[i, k] * cost[i, j, k]
            expected += W[i] * f
        for k in range(K):
            spent += played[k] * z[j, k]
        over[j] += spent - b[j]
        pace(lam, over, j, b[j], expected, par[0], par[1])
    # 3 forecasts and their errors
    for i in range(N):
        a = 1 / min(x[0], mem[i])
        ae = 1 / max(1.0, min(x[0] - 1, mem[i]))
        for o in range(1 + m):
            e1, e2 = 0.0, 0.0
            for k in range(K):
                if o == 0:
                    d = r[k] - reward[i, k]
                    reward[i, k] += a * d
                else:
                    d = z[o - 1, k] - cost[i, o - 1, k]
                    cost[i, o - 1, k] += a * d
                e1 += d
                e2 += d * d
            error[i, o] += ae * (max(e2 - e1 * e1 / K, 0.0) / max(K - 1, 1) - error[i, o])
    full_prepare(s, b)


# Bandit --------------------------------------------------------------------------------------------------------------
BANDIT = np.array([MU, REPAY, KAPPA, BETA, STALE, RHO])


def bandit_start(K, m, b, memories=BANDIT_MEMORIES, expected=None):
    N = len(memories)
    b = np.asarray(b, float)
    prior = np.zeros((1 + m, K))
    prior[0] = 0.5
    prior[1:] = b[:, None] if expected is None else expected
    s = (
        np.zeros((N, K)),  # 0 count of answers, discounted
        np.zeros((N, 1 + m, K)),  # 1 sums of y - prior, discounted
        np.zeros((N, K)),  # 2 log weight of each memory, for each action
        np.zeros(m),  # 3 lam
        np.zeros(m),  # 4 over
        np.array([0.0, 2.0, 0.0]),  # 5 t, nn (answers, discounted), lev (leverages, discounted)
        np.concatenate([[2 * 0.09], 2 * b * np.maximum(1 - b, 0.0)]),  # 6 squares: discounted sums of squared errors
        np.array(memories, float),  # 7
        np.zeros(K),  # 8 tried: answers discounted by STALE
        prior.copy(),  # 9 forecast (1+m, K)
        prior,  # 10 prior
        np.full((N, K), 1 / N),  # 11 W
        np.full(K, 1 / K),  # 12 p
        np.zeros(K),  # 13 room: scores
        np.ones(K),  # 14 may
        np.ones(K),  # 15 available (masks)
    )
    return s


@njit
def bandit_play(s, p):
    for k in range(p.size):
        p[k] = s[12][k]


@njit
def memory_forecast(count, sums, o, a, i, f, rho):
    """A memory's mean, whose prior (one answer's weight) is the next longer memory's; the longest has the prior's rho."""
    w = rho if i == count.shape[0] - 1 else 1.0
    return (sums[i, o, a] + w * f) / (count[i, a] + w)


@njit
def forecast_one(s, a, rho):
    count, sums, forecast, prior, W = s[0], s[1], s[9], s[10], s[11]
    N = count.shape[0]
    for o in range(forecast.shape[0]):
        f, v = 0.0, 0.0
        for i in range(N - 1, -1, -1):
            f = memory_forecast(count, sums, o, a, i, f, rho)
            v += W[i, a] * f
        v += prior[o, a]
        forecast[o, a] = min(max(v, 0.0), 1.0) if o == 0 else max(v, 0.0)


@njit
def inverse_gaps(score, g, may, p):
    """Lemma G: p = 1/(nu + g gap) on the actions that may be best; Newton from nu = 1 rises to the root."""
    top, total, n = -1e300, 0.0, 0
    for k in range(p.size):
        if may[k] > 0:
            top = max(top, score[k])
            total += score[k]
            n += 1
    nu = max(1.0, n - g * (n * top - total) / n)  # the root is at least this (Jensen)
    for _ in range(60 if n > 1 else 0):
        f, d = -1.0, 0.0
        for k in range(p.size):
            if may[k] > 0:
                y = 1 / (nu + g * (top - score[k]))
                f += y
                d += y * y
        if f <= 1e-9:
            break
        nu += f / d
    total = 0.0
    for k in range(p.size):
        p[k] = 1 / (nu + g * (top - score[k])) if may[k] > 0 else 0.0
        total += p[k]
    for k in range(p.size):
        p[k] /= total


@njit
def bandit_prepare(s, par, b):
    lam, x, squares, tried, forecast, p, score, may, available = s[3], s[5], s[6], s[8], s[9], s[12], s[13], s[14], s[15]
    K, m = p.size, b.size
    kappa, beta, stale, rho = par[2], par[3], par[4], par[5]
    e = squares[0]
    for j in range(m):
        e += lam[j] * lam[j] * squares[1 + j]
    e /= x[1]  # mean squared error of a score at today's prices
    low, n = -1e300, 0
    for k in range(K):
        forecast_one(s, k, rho)
        v = forecast[0, k]
        for j in range(m):
            v -= lam[j] * forecast[1 + j, k]
        score[k] = v
        if available[k] > 0:
            n += 1
            p[k] = beta * sqrt(e / (tried[k] + rho))  # the radius, for a moment
            low = max(low, v - p[k])
    for k in range(K):
        room = 1 - forecast[0, k]  # a reward is at most 1 and a cost at least 0
        for j in range(m):
            room += lam[j] * forecast[1 + j, k]
        up = min(p[k], room)
        may[k] = 1.0 if available[k] > 0 and score[k] + up >= low else 0.0
    g = 2 * kappa * sqrt((n - 1) * max(min(x[0], stale), 1.0) / max(e * x[2], 1e-12))
    inverse_gaps(score, g, may, p)


@njit
def bandit_charge(s, par, b, a, charged, late):
    """At the draw: the price moves by the cost foreseen, which is booked as debt until the bill comes."""
    lam, over, x, forecast = s[3], s[4], s[5], s[9]
    x[0] += 1
    for j in range(b.size):
        charged[j] = forecast[1 + j, a]
        over[j] += charged[j] - b[j]
        pace(lam, over, j, b[j], charged[j], par[0], par[1])
    if late:  # another draw may come before the answer; if not, learn prepares
        bandit_prepare(s, par, b)


@njit
def bandit_learn(s, par, b, a, r, z, charged):
    """When the answer comes: the bill replaces the charge in the debt; the price is left alone."""
    count, sums, h, lam, over, x, squares, mem, tried, forecast, prior, W = s[:12]
    N, K = count.shape
    m, stale, rho = b.size, par[4], par[5]
    forecast_one(s, a, rho)
    e = squares[0]
    for j in range(m):
        e += lam[j] * lam[j] * squares[1 + j]
        over[j] += z[j] - charged[j]
    e = max(e / x[1], 1e-12)
    # 1 the action's memories are weighed by their squared errors (a Gaussian likelihood), with a share 1/(N (1 + t)) kept
    for o in range(1 + m):
        y = (r if o == 0 else z[o - 1]) - prior[o, a]
        price = 1.0 if o == 0 else lam[o - 1]
        f = 0.0
        for i in range(N - 1, -1, -1):
            f = memory_forecast(count, sums, o, a, i, f, rho)
            d = price * (y - f)
            h[i, a] -= d * d / (2 * e)
    top, total = -1e300, 0.0
    for i in range(N):
        top = max(top, h[i, a])
    for i in range(N):
        h[i, a] = max(h[i, a] - top, -log(N * (1 + x[0])))
        W[i, a] = exp(h[i, a])
        total += W[i, a]
    for i in range(N):
        W[i, a] /= total
    # 2 errors and leverage, of before
    w = 1 / (tried[a] + rho)
    lev, f = w / (1 + w), 1 - 1 / stale
    x[1] = f * x[1] + 1
    x[2] = f * x[2] + lev
    for o in range(1 + m):
        d = (r if o == 0 else z[o - 1]) - forecast[o, a]
        squares[o] = f * squares[o] + d * d * (1 - lev)
    for k in range(K):
        tried[k] *= f
    tried[a] += 1
    # 3 means
    for i in range(N):
        f = 1 - 1 / mem[i]
        if f < 1:
            for k in range(K):
                count[i, k] *= f
                for o in range(1 + m):
                    sums[i, o, k] *= f
        count[i, a] += 1
        sums[i, 0, a] += r - prior[0, a]
        for j in range(m):
            sums[i, 1 + j, a] += z[j] - prior[1 + j, a]
    bandit_prepare(s, par, b)
