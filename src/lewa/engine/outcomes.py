"""The parts of a round that loops share: the outcomes, the sums and the history."""

from lewa.blocks import Rounds
from lewa.engine.records import RoundHistory, RunningSums
from lewa.kernels import means, place, positive, uniform
from lewa.kernels.jit import rule
from lewa.types import Matrix, Vector


@rule
def add_reward(sums: RunningSums, reward: float) -> None:
    """Add up the reward."""
    sums.reward[0] += reward


@rule
def add_shortfall(sums: RunningSums, floor: Vector, met: Vector) -> None:
    """Add up the shortfalls."""
    for j in range(met.size):
        sums.shortfall[j] += floor[j] - met[j]
        sums.positive[j] += positive(floor[j] - met[j])


@rule
def add_observed_shortfall(sums: RunningSums, floor: Vector, met: Vector) -> None:
    """Add up the shortfalls of the constraints that the learner observes."""
    for j in range(met.size):
        sums.observed_shortfall[j] += floor[j] - met[j]


@rule
def add_shortfall_of_action(sums: RunningSums, floor: Vector, i: int, c: Vector, mean_constraints: Matrix) -> None:
    """Add up by how much action i misses the floors: by its mean constraints where they are known, and by c observed."""
    for j in range(c.size):
        short = floor[j] - (mean_constraints[j, i] if mean_constraints.shape[0] > 0 else c[j])
        sums.shortfall[j] += short
        sums.positive[j] += positive(short)
        sums.observed_shortfall[j] += floor[j] - c[j]


@rule
def add_multiplier(multiplier: Vector, t: int, sums: RunningSums, history: RoundHistory) -> None:
    """Add the multiplier up, and write it down if every round is."""
    for j in range(sums.multiplier_sums.size):
        sums.multiplier_sums[j] += multiplier[j]
        sums.largest_multiplier[j] = max(sums.largest_multiplier[j], multiplier[j])
        if history.actions.size > 0:
            history.multipliers[t, j] = multiplier[j]


@rule
def write_action(history: RoundHistory, t: int, i: int) -> None:
    """Record the action of round t."""
    history.actions[t] = i


@rule
def write_play(history: RoundHistory, t: int, p: Vector) -> None:
    """Record the play of round t."""
    for i in range(p.size):
        history.plays[t, i] = p[i]


@rule
def see_context(features: Vector, nature: Rounds, t: int) -> None:
    """Show a learner that looks at features those of round t, if the game has some."""
    if nature.contexts.shape[1] > 0:
        for i in range(features.size):
            features[i] = nature.contexts[t, i]


@rule
def reveal(nature: Rounds, t: int, i: int, c: Vector) -> float:
    """Return the reward of action i in round t of the block; its constraints go into c."""
    if nature.key.size == 0:
        for j in range(c.size):
            c[j] = nature.constraints[t, j, i]
        return float(nature.rewards[t, i])
    n = place(nature.start[0] + t, i, nature.rewards.shape[1], c.size)
    for j in range(c.size):
        c[j] = 1.0 if uniform(nature.key[0], n + 1 + j) < nature.constraints[0, j, i] else 0.0
    return 1.0 if uniform(nature.key[0], n) < nature.rewards[0, i] else 0.0


@rule
def met_by_play(nature: Rounds, t: int, p: Vector, c: Vector) -> None:
    """c <- p . c_t: the constraints of the whole play, by which a bandit is measured although it does not see them."""
    means(p, nature.constraints[t if nature.key.size == 0 else 0], c)
