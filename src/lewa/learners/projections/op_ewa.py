"""OP-EWA: exponential weights, projected in each round onto the plays that may meet the floors; also for bandits."""

from dataclasses import dataclass
from math import inf, log, sqrt
from typing import Annotated, NamedTuple, TypeAlias

from lewa.feedback import Bandit, Full
from lewa.kernels.estimates import confidence_bound_of, confidence_bounds, ix_loss, update_mean_of, update_means
from lewa.kernels.projection import lift, prices, project_or_relax, project_or_relax_bounds, stitched, temper
from lewa.kernels.roles import Bounds, Clock, ConstraintMeans, Counts, Least, Lines, Multiplier
from lewa.kernels.tilting import Tilt
from lewa.kernels.weights.hedge import Weights, grow, normalize, shrink_one
from lewa.learners.base import USUAL, Law, Learner, Parameters, Positive, Problem, Step, Theorems, trial
from lewa.learners.parameter_checks import check_least_share, law_of
from lewa.learners.variants.anytime_lewa import AnytimeLewa
from lewa.theory import anytime, bandit, paper, projected
from lewa.types import Matrix, Vector

Bonus: TypeAlias = Annotated[float, Law(law_of("must lie in [-1, 1]", lambda x: -1 <= x <= 1))]
Corruption: TypeAlias = Annotated[float, Law(law_of("must be at least 0, and finite", lambda x: 0 <= x < inf))]
LeastShare: TypeAlias = Annotated[float, Law(check_least_share)]


class OpEwaState(NamedTuple):
    weights: Weights  # w
    multiplier: Multiplier  # (m,)    lambda, of the last projection
    mean: Lines  # (m, K)  cbar
    least: Least  # (m,)    what the play had to meet of cbar
    tilt: Tilt  # lambda times the step, and its working memory
    clock: Clock  # (1,)    t, the rounds seen


def step_for_share(
    q: Problem, kappa: float = 1.0, share: float | None = None, corruption: float = 0.0, epsilon: float = 0.05
) -> Parameters:
    """eta = sqrt(8 (ln K/T + share)), radius = sqrt(ln(2KmT/epsilon)/2); if kappa < 1, ln K + ln((1 + share)/share)."""
    share = (0.0 if kappa == 1 else min(0.5, 1 / q.T)) if share is None else share
    behind = q.ln_K  # how far behind an action may be when its turn comes
    if kappa < 1 and share > 0:
        behind += log((1 + share) / share)
    eta, radius = sqrt(8 * (behind / q.T + share)), paper.hp_radius(q.K, q.T, q.m, epsilon)
    return {"eta": eta, "radius": radius, "kappa": kappa, "share": share, "corruption": corruption}


def step_for_any_horizon(q: Problem, kappa: float = 1.0, corruption: float = 0.0, epsilon: float = 0.05) -> Parameters:
    """eta = 2 sqrt(ln K), L = ln(2Km/epsilon), for every horizon."""
    level = log(2 * q.K * q.m / epsilon)
    return {"eta": 2 * sqrt(q.ln_K), "level": level, "kappa": kappa, "corruption": corruption}


@dataclass(frozen=True)
class OpEwa(Learner):
    """OP-EWA: exponential weights projected onto an optimistic estimate of the feasible set.

    The method that the paper dismisses: estimate the constraints and project. The estimate is relaxed by its confidence
    radius, so no play that meets the floors is excluded. The bounds are on the sum of all shortfalls; no round offsets
    another.

    No box of the paper. With p_1 uniform, in round t::

        cbar_t  = (c_1 + ... + c_t) / t
        X_t     = {p : p.cbar_t >= c0 - kappa radius/sqrt(t) - C/t}, or with 1 for kappa if there is no such play
        w_{t+1} = p_t exp(eta r_t)
        p_{t+1} = the play of X_t nearest to w_{t+1} / sum w_{t+1}, in relative entropy     (w itself, if X_t is empty)
                = p_t exp(eta (r_t + lambda_{t+1} cbar_t)) / sum, with the least lambda_{t+1} >= 0 that leads into X_t
        p_{t+1} = max(p_{t+1}, share/K), divided by its sum

    Order: cbar_t contains c_t. The next step starts from the projected play, not from all rewards so far; for the
    latter (lazy) form there is no theorem. For m constraints X_t has m half-spaces and lambda m entries.

    Parameters: eta = eta > 0; radius = radius > 0; kappa = kappa in [-1, 1], the bonus; share = share in [0, 1); c0 =
    floor, each in [0, 1]; a floor of 0 is no constraint; C = corruption >= 0, the total corruption of the constraints.

    Reading: radius = sqrt(ln(2KmT/epsilon)/2), eta = sqrt(8 ln K/T). kappa = 1 is the theorem: with probability 1 -
    epsilon regret <= sqrt(T ln K/2) and the sum of all shortfalls, sum [c0 - p_t.c]+, is at most c0 + sqrt(8 T
    ln(2KmT/epsilon)), without slack. kappa = 0 uses the estimate without a bonus; it is by far the best in practice.
    kappa = -1 is cautious: it stays above the floors by the radius. For both, the bound on the shortfalls still holds,
    but regret is bounded only if some play exceeds the floors by S, which the learner need not know, and only with a
    share, which is then 1/T; the shortfalls of cautious play sum to O(ln T/S). A share adds share T/eta to the bound;
    without it an action that an unlucky estimate excluded may never return. The fixed share of Stradi et al. mixes, (1
    - share) p + share/K; lifting small probabilities has the same proof and needs fewer logarithms. If constraints are
    corrupted by at most C in total, and C is known, kappa = 1 has the same bound on regret, without slack, and the
    bound on shortfalls grows by 2C (1 + ln T). Proofs: docs/theory_projected.md, 2.

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> for kappa in (1, 0, -1):
    ...     learner = lewa.learners.OpEwa.tuned(actions=2, horizon=10_000, floor=0.5, kappa=kappa)
    ...     trace = lewa.play(learner, game, rounds=10_000, seeds=1)
    ...     bound = lewa.guarantee(learner, actions=2, rounds=10_000)
    ...     short = lewa.positive_violation(trace)[0, 0]
    ...     f"regret {lewa.regret(trace)[0]:.0f}, shortfalls {short:.0f} (bound {bound.positive_violation[0]:.0f})"
    'regret -380, shortfalls 589 (bound 1043)'
    'regret -72, shortfalls 118 (bound 1044)'
    'regret 245, shortfalls 6 (bound 1044)'

    Reference: docs/theory_projected.md; the idea is that of F. E. Stradi, K. Kalupahana, M. Castiglioni, A. Marchesi,
    N. Gatti, Truly adapting to adversarial constraints in constrained MABs, COLT 2026.
    """

    eta: Step
    radius: Positive
    kappa: Bonus
    share: LeastShare
    floor: Vector
    corruption: Corruption = 0.0

    tunings = {"recommended": step_for_share}
    trials = (
        *(*USUAL, trial(4, 100, 0.6, kappa=0, radius=0.05), trial(4, 100, (0.3, 0.5), kappa=-1, radius=0.05)),
        trial(4, 100, 0.6, corruption=0.5, radius=0.05),
    )
    theorems = Theorems(projected.op_ewa)

    def play(self, s: OpEwaState, p: Vector) -> None:
        normalize(s.weights, p)  # p = w / sum w

    def learn(self, s: OpEwaState, seen: Full) -> None:
        s.clock[0] += 1
        t = s.clock[0]
        alpha = self.radius / sqrt(t)
        update_means(s.mean, seen.constraints, t)  # cbar <- cbar + (c - cbar)/t
        grow(s.weights, self.eta, seen.rewards)  # w <- p exp(eta r)
        # w <- the nearest with p.cbar >= c0 - kappa alpha - C/t
        project_or_relax(s.weights, s.mean, self.floor, self.kappa, alpha, self.corruption / t, s.least, s.tilt)
        if self.share > 0:
            lift(s.weights, self.share)  # w <- max(w, share/K sum w)
        prices(s.tilt, self.eta, s.multiplier)

    @property
    def parent(self) -> Learner | None:
        """With floor 0 it is EWA, unless it has a share."""
        return None if self.share else super().parent


@dataclass(frozen=True)
class AnytimeOpEwa(Learner):
    """Anytime OP-EWA: OP-EWA for an unknown horizon.

    OP-EWA with a decreasing step and a radius that covers all rounds. Before a projection the weights are flattened in
    proportion to the decrease of the step, so that the current step weighs all past rewards.

    No box of the paper. With p_1 uniform and eta_t = eta/sqrt(t), in round t::

        cbar_t  = (c_1 + ... + c_t) / t
        alpha_t = kappa sqrt(n (L + ln((k + 1)(k + 2)))/2)/t + C/t, n = 1.2^k the least power of 1.2 that is at least t
        X_t = {p : p.cbar_t >= c0 - alpha_t}, or with 1 for kappa if there is no such play w_{t+1} = (p_t exp(eta_t
        r_t))^(eta_{t+1}/eta_t) p_{t+1} = the play of X_t nearest to w_{t+1} / sum w_{t+1}, in relative entropy (w
        itself, if X_t is empty)

    Order: cbar_t contains c_t. Weights are flattened before they are projected, so the play meets the constraints.
    lambda_{t+1} is the tilt of the projection divided by eta_{t+1}. For m constraints X_t has m half-spaces and lambda m
    entries.

    Parameters: eta = eta > 0; L = level > 0; kappa = kappa in [-1, 1], the bonus; C = corruption >= 0, the total
    corruption of the constraints; c0 = floor, each in [0, 1]; a floor of 0 is no constraint.

    Reading: eta = 2 sqrt(ln K), L = ln(2Km/epsilon). With kappa = 1, with probability 1 - epsilon at all T at once,
    regret <= sqrt(T ln K), sqrt(2) times that of OP-EWA, which needs T; the sum of all shortfalls is at most c0 + 2
    sum_t alpha_t, of order sqrt(T ln ln T), and at a million rounds a little less than that of OP-EWA. It needs neither
    slack nor a share. (With doubling, OP-EWA has 2.4 times the regret bound and 2.6 times the bound on shortfalls that
    it has with known T.) If constraints are the same in every round, the shortfalls with kappa = 0 sum to at most c0,
    on every path. If they are corrupted by at most C in total, and C is known, the bound on shortfalls grows by 2C (1 +
    ln T) and that on regret does not change. With kappa below 1 the bound on shortfalls still holds; regret is then
    bounded only if constraints are the same in every round and kappa >= 0. Proof: docs/theory_anytime.md, 4.

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> trace = lewa.play("anytime-op-ewa", game, rounds=10_000, seeds=1, floor=0.5)
    >>> f"regret {trace.regret[0]:.0f} (bound {trace.guarantee.regret:.0f})"
    'regret -390 (bound 83)'
    >>> f"shortfalls {trace.positive_violation[0, 0]:.0f} (bound {trace.guarantee.positive_violation[0]:.0f})"
    'shortfalls 607 (bound 1012)'

    Reference: docs/theory_anytime.md; flattening the weights is the dual stabilisation of H. Fang, N. Harvey, V.
    Portella, M. Friedlander, Online mirror descent and dual averaging: keeping pace in the dynamic case, ICML 2020.
    """

    eta: Step
    level: Positive
    kappa: Bonus
    corruption: Corruption
    floor: Vector

    tunings = {"recommended": step_for_any_horizon}
    trials = (*USUAL, trial(4, 100, 0.6, kappa=0), trial(4, 100, (0.3, 0.5), kappa=0, corruption=0.5))
    theorems = Theorems(anytime.anytime_op_ewa)

    def play(self, s: OpEwaState, p: Vector) -> None:
        normalize(s.weights, p)  # p = w / sum w

    def learn(self, s: OpEwaState, seen: Full) -> None:
        s.clock[0] += 1
        t = s.clock[0]
        radius = stitched(t, self.level)
        update_means(s.mean, seen.constraints, t)  # cbar <- cbar + (c - cbar)/t
        grow(s.weights, self.eta / sqrt(t), seen.rewards)  # w <- p exp(eta_t r)
        temper(s.weights, sqrt(t / (t + 1)))  # w <- w^(eta_{t+1}/eta_t)
        # w <- the nearest with p.cbar >= c0 - kappa radius - C/t
        project_or_relax(s.weights, s.mean, self.floor, self.kappa, radius, self.corruption / t, s.least, s.tilt)
        prices(s.tilt, self.eta / sqrt(t + 1), s.multiplier)

    @property
    def parent(self) -> Learner | None:
        """With floor 0 it is anytime LEWA, whatever its delta."""
        return AnytimeLewa(self.eta, self.eta, self.floor)


class BanditOpEwaState(NamedTuple):
    weights: Weights  # w
    multiplier: Multiplier  # (m,)    lambda, of the last projection
    drawn: Counts  # (K,)    N
    mean: ConstraintMeans[Matrix]  # (m, K)  the mean of the observations of each action
    upper: Bounds  # (m, K)  u
    tilt: Tilt  # eta lambda, and its working memory


def ix_step(q: Problem, epsilon: float) -> Parameters:
    """Return the step that balances the regret of implicit exploration, and the level of the radii."""
    eta = sqrt((q.ln_K + log(4 * q.K / epsilon)) / (q.K * q.T))
    return {"eta": eta, "level": bandit.ucb_level(q.K, q.T, q.m, epsilon)}


def bandit_steps(q: Problem, kappa: float = 1.0, corruption: float = 0.0, epsilon: float = 0.05) -> Parameters:
    """eta = sqrt((ln K + ln(4K/epsilon))/(K T)), L = ln(8 K m T/epsilon)."""
    return {**ix_step(q, epsilon), "kappa": kappa, "corruption": corruption}


@dataclass(frozen=True)
class BanditOpEwa(Learner):
    """Bandit OP-EWA: implicit exploration, projected onto an optimistic feasible set.

    Rewards are estimated by implicit exploration (Exp3-IX), constraints by an upper confidence bound for every action.
    The play meets the floors as if these bounds were the true means. No multiplier has to be learned.

    No box of the paper. With p_1 uniform, and N_k and mean_k the number and the mean of the observations of action k up
    to round t, in round t, i the action drawn from p_t::

        w_{t+1,i}   = p_{t,i} exp(-eta (1 - r_t)/(p_{t,i} + eta/2))           (the other weights are those of p_t)
        u_{t+1,k}   = mean_k + kappa sqrt(L/(2 N_k)) + C/N_k, clipped to [0, 1]  (1 while N_k = 0)
        p_{t+1}     = the play nearest to w_{t+1} / sum w_{t+1}, in relative entropy, with p.u_{t+1} >= c0
                      (with 1 for kappa, if there is none; w itself, if there still is none)

    Order: u_{t+1} contains round t. The probability p_{t,i} is that of the draw, which the feedback contains. The next
    step starts from the projected play. With m constraints there are m half-spaces.

    Parameters: eta = eta > 0; L = level > 0; kappa = kappa in [-1, 1], the bonus; c0 = floor, each in [0, 1]; C =
    corruption >= 0, the total corruption of the constraints.

    Reading: eta = sqrt((ln K + ln(4K/epsilon))/(K T)), L = ln(8KmT/epsilon). kappa = 1 is the theorem: with probability
    1 - epsilon, against rewards that react, for all plays that meet the floors at once, regret <= 2 sqrt(K T (ln K +
    ln(4K/epsilon))) + ln(4/epsilon), and the sum of all shortfalls is at most K + 2 sqrt(2 L K T) + sqrt((T/2)
    ln(4/epsilon)), without slack. If constraints are corrupted by at most C in total, and C is known, the bound on
    regret is the same and that on shortfalls grows by (K + 1) C (1 + ln T). If constraints are the same in every round
    and C = 0, there is a theorem for every kappa >= 0; with kappa = 0 the expected sum of shortfalls is at most K.
    Otherwise nothing is proved for kappa < 1, because the set may exclude plays that meet the floors, and an excluded
    action is not drawn again. In practice the shortfalls with kappa = 0 are much smaller. At any kappa an action that
    was not tried yet counts as meeting every floor, so that it is tried. Proof: docs/theory_projected.md, 3.

    >>> import lewa
    >>> game = lewa.games.Bernoulli(rewards=[0.9, 0.5], constraints=[[0.2, 0.8]])
    >>> for kappa in (1, 0):
    ...     learner = lewa.learners.BanditOpEwa.tuned(actions=2, horizon=100_000, floor=0.5, kappa=kappa)
    ...     trace = lewa.play(learner, game, rounds=100_000, seeds=4)
    ...     f"regret at most {lewa.regret(trace).max():.0f}, shortfalls {lewa.positive_violation(trace).max():.0f}"
    'regret at most -1580, shortfalls 2852'
    'regret at most 114, shortfalls 348'
    >>> bound = lewa.guarantee(learner.replace(kappa=1.0), actions=2, rounds=100_000)
    >>> f"proved for kappa = 1 with probability 0.95: {bound.regret:.0f} and {bound.positive_violation[0]:.0f}"
    'proved for kappa = 1 with probability 0.95: 2153 and 5728'

    Reference: docs/theory_projected.md; F. E. Stradi, K. Kalupahana, M. Castiglioni, A. Marchesi, N. Gatti, Truly
    adapting to adversarial constraints in constrained MABs, COLT 2026; implicit exploration is G. Neu, NIPS 2015.
    """

    eta: Step
    level: Positive
    kappa: Bonus
    floor: Vector
    corruption: Corruption = 0.0

    tunings = {"recommended": bandit_steps}
    trials = (
        *(*USUAL, trial(4, 100, 0.6, level=0.01), trial(4, 100, (0.4, 0.5), kappa=-1, level=0.01)),
        trial(4, 100, 0.6, corruption=0.5, level=0.01),
    )
    theorems = Theorems(projected.bandit_op_ewa)

    def play(self, s: BanditOpEwaState, p: Vector) -> None:
        normalize(s.weights, p)  # p = w / sum w

    def learn(self, s: BanditOpEwaState, seen: Bandit) -> None:
        i, N, u, L, C = seen.action, s.drawn, s.upper, self.level, self.corruption
        loss = ix_loss(self.eta * (1 - seen.reward), seen.propensity, self.eta / 2)
        shrink_one(s.weights, i, loss)  # w_i <- w_i exp(-eta (1 - r)/(p_i + eta/2))
        N[i] += 1
        update_mean_of(s.mean, i, seen.constraints, N[i])
        confidence_bound_of(s.mean, i, N[i], L, self.kappa, C, u)  # u_i = mean_i + kappa sqrt(L/(2 N_i)) + C/N_i
        if project_or_relax_bounds(s.weights, u, s.mean, N, L, C, self.floor, s.tilt):  # p.u >= c0, or with 1 for kappa
            confidence_bounds(s.mean, N, L, self.kappa, C, 1.0, u)
        prices(s.tilt, self.eta, s.multiplier)
