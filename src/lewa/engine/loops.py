"""One compiled loop per kind of feedback, and the single steps of an application, for any learner.

A loop holds the learner's class in its closure and finds the rule by it; everything else is in one buffer (see
kernels/packing.py). So a loop is compiled once per class, found on disk by the next process, and, because the sources it
came from are hashed into the closure too, never found stale.
"""

from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any, NamedTuple

from numba.extending import overload

from lewa.blocks import Block, Lazy
from lewa.engine.stamp import UNSAVED, stamp_of
from lewa.feedback import Bandit, Full, feedback_kind
from lewa.kernels import compiled_form, means, observe, pick, place, positive, uniform, unpack
from lewa.kernels.dispatch import choose, learn, play
from lewa.kernels.jit import INLINE, program
from lewa.types import Indices, Matrix, Vector, Words


class Tally(NamedTuple):
    """What a run adds up as it goes; `rounds.Trace` says what each is."""

    reward: Vector  # (1,)
    shortfall: Vector  # (m,)
    positive: Vector  # (m,)
    observed_shortfall: Vector  # (m,)
    multiplier_sums: Vector  # (m,)
    largest_multiplier: Vector  # (m,)


class Columns(NamedTuple):
    """What a run writes down each round; without rows when nobody asked."""

    plays: Matrix  # (n, K)
    multipliers: Matrix  # (n, m)
    actions: Indices  # (n,)


def note(s: Any, t: int, tally: Tally, columns: Columns) -> None:
    """Add the multiplier up, and write it down if asked; a learner without one has nothing to note."""
    (_note if hasattr(s, "multiplier") else _skip)(s, t, tally, columns)


def _note(s: Any, t: int, tally: Tally, columns: Columns) -> None:
    for j in range(tally.multiplier_sums.size):
        tally.multiplier_sums[j] += s.multiplier[j]
        tally.largest_multiplier[j] = max(tally.largest_multiplier[j], s.multiplier[j])
        if columns.actions.size > 0:
            columns.multipliers[t, j] = s.multiplier[j]


def _skip(s: Any, t: int, tally: Tally, columns: Columns) -> None:
    pass


def reveal(nature: Block | Lazy, t: int, i: int, c: Vector) -> float:
    """The reward of action i in round t of these; its constraints go into c."""
    return _read(nature, t, i, c) if isinstance(nature, Block) else _draw(nature, t, i, c)


def _read(nature: Block, t: int, i: int, c: Vector) -> float:
    for j in range(c.size):
        c[j] = nature.constraints[t, j, i]
    return float(nature.rewards[t, i])


def _draw(nature: Lazy, t: int, i: int, c: Vector) -> float:
    n = place(nature.start[0] + t, i, nature.rewards.size, c.size)
    for j in range(c.size):
        c[j] = 1.0 if uniform(nature.key[0], n + 1 + j) < nature.constraints[j, i] else 0.0
    return 1.0 if uniform(nature.key[0], n) < nature.rewards[i] else 0.0


def foresee(nature: Block | Lazy, t: int, p: Vector, c: Vector) -> None:
    """c <- p . c_t: what the whole play would have met, which a bandit is never told but is measured by."""
    means(p, nature.constraints[t] if isinstance(nature, Block) else nature.constraints, c)


overload(foresee, jit_options=INLINE, strict=False)(
    lambda nature, t, p, c: (
        (lambda nature, t, p, c: means(p, nature.constraints[t], c))
        if nature.instance_class is Block
        else (lambda nature, t, p, c: means(p, nature.constraints, c))
    )
)
overload(note, jit_options=INLINE, strict=False)(
    lambda s, t, tally, columns: _note if "multiplier" in s.instance_class._fields else _skip
)
overload(reveal, jit_options=INLINE, strict=False)(
    lambda nature, t, i, c: _read if nature.instance_class is Block else _draw
)


class Loops(NamedTuple):
    """What is compiled for one class of learner, each when it is first called."""

    run: Callable[..., None]  # rounds in a row that are laid out, in the form its feedback asks for
    run_lazy: Callable[..., None]  # the same for rounds that are drawn lazily
    play: Callable[[Vector, Vector], None]  # the play, into an array
    choose: Callable[..., tuple[int, float]]  # an action and its chance, by the dice of round t
    learn_full: Callable[[Vector, Vector, Matrix, Vector, Vector], None]
    learn_bandit: Callable[[Vector, int, float, float, Vector, Vector], None]
    learn_one: Callable[
        [Vector, int, float, int, float, float, float], bool
    ]  # one constraint, checked: False if it was refused


@cache
def _loops(learner: Any) -> Loops:
    stamp = stamp_of(learner)

    # Every function mentions the stamp, which puts it into its closure and so into the key of the cache on disk.

    def full(
        memory: Vector,
        nature: Block,
        mean_constraints: Matrix,
        rounds: int,
        dice: Words,
        start: int,
        p: Vector,
        met: Vector,
        tally: Tally,
        columns: Columns,
    ) -> None:
        if stamp == "":
            return
        self, s = unpack(learner, memory)
        for t in range(rounds):
            play(self, s, p)
            note(s, t, tally, columns)
            seen = Full(nature.rewards[t], nature.constraints[t], met, p)
            tally.reward[0] += observe(p, seen)
            for j in range(met.size):
                tally.observed_shortfall[j] += self.floor[j] - met[j]
            learn(self, s, seen)
            if mean_constraints.shape[0] > 0:
                means(p, mean_constraints, met)
            for j in range(met.size):
                tally.shortfall[j] += self.floor[j] - met[j]
                tally.positive[j] += positive(self.floor[j] - met[j])
            if columns.actions.size > 0:
                columns.actions[t] = pick(p, uniform(dice[0], start + t))
                for i in range(p.size):
                    columns.plays[t, i] = p[i]

    def bandit(
        memory: Vector,
        nature: Any,
        mean_constraints: Matrix,
        rounds: int,
        dice: Words,
        start: int,
        p: Vector,
        c: Vector,
        tally: Tally,
        columns: Columns,
    ) -> None:
        if stamp == "":
            return
        self, s = unpack(learner, memory)
        nothing = p[:0]
        for t in range(rounds):
            if columns.actions.size > 0:
                play(self, s, p)
                for i in range(p.size):
                    columns.plays[t, i] = p[i]
            i, propensity = choose(self, s, uniform(dice[0], start + t))
            note(s, t, tally, columns)
            reward = reveal(nature, t, i, c)
            tally.reward[0] += reward
            for j in range(c.size):
                short = self.floor[j] - (mean_constraints[j, i] if mean_constraints.shape[0] > 0 else c[j])
                tally.shortfall[j] += short
                tally.positive[j] += positive(short)
                tally.observed_shortfall[j] += self.floor[j] - c[j]
            learn(self, s, Bandit(i, propensity, reward, c, nothing))
            if columns.actions.size > 0:
                columns.actions[t] = i

    def dense(
        memory: Vector,
        nature: Any,
        mean_constraints: Matrix,
        rounds: int,
        dice: Words,
        start: int,
        p: Vector,
        c: Vector,
        tally: Tally,
        columns: Columns,
    ) -> None:
        if stamp == "":
            return
        self, s = unpack(learner, memory)
        for t in range(rounds):
            play(self, s, p)
            i = pick(p, uniform(dice[0], start + t))
            note(s, t, tally, columns)
            reward = reveal(nature, t, i, c)
            tally.reward[0] += reward
            for j in range(c.size):
                tally.observed_shortfall[j] += self.floor[j] - c[j]
            learn(self, s, Bandit(i, p[i], reward, c, p))
            if mean_constraints.shape[0] > 0:
                means(p, mean_constraints, c)
            else:
                foresee(nature, t, p, c)
            for j in range(c.size):
                tally.shortfall[j] += self.floor[j] - c[j]
                tally.positive[j] += positive(self.floor[j] - c[j])
            if columns.actions.size > 0:
                columns.actions[t] = i
                for k in range(p.size):
                    columns.plays[t, k] = p[k]

    def one_play(memory: Vector, p: Vector) -> None:
        if stamp != "":
            self, s = unpack(learner, memory)
            play(self, s, p)

    def draw_one(memory: Vector, dice: Words, t: int) -> Any:
        if stamp == "":
            return 0, 0.0
        self, s = unpack(learner, memory)
        return choose(self, s, uniform(dice[0], t))

    def draw_from_play(memory: Vector, dice: Words, t: int, p: Vector) -> Any:
        if stamp == "":
            return 0, 0.0
        self, s = unpack(learner, memory)
        play(self, s, p)
        i = pick(p, uniform(dice[0], t))
        return i, p[i]

    def learn_full(memory: Vector, rewards: Vector, constraints: Matrix, met: Vector, p: Vector) -> None:
        if stamp != "":
            self, s = unpack(learner, memory)
            learn(self, s, Full(rewards, constraints, met, p))

    def learn_bandit(memory: Vector, action: int, propensity: float, reward: float, constraints: Vector, p: Vector) -> None:
        if stamp != "":
            self, s = unpack(learner, memory)
            learn(self, s, Bandit(action, propensity, reward, constraints, p))

    def learn_one(
        memory: Vector, K: int, least: float, action: int, propensity: float, reward: float, constraint: float
    ) -> bool:
        if stamp == "" or not (0 <= action < K and least <= propensity <= 1 and 0 <= reward <= 1 and 0 <= constraint <= 1):
            return False
        self, s = unpack(learner, memory)
        c = memory[memory.size - 1 :]  # the caller keeps one spare number at the end of the buffer
        c[0] = constraint
        learn(self, s, Bandit(action, propensity, reward, c, c[:0]))
        return True

    run = {"full": full, "bandit": bandit, "dense": dense}[feedback_kind(learner)]
    one_choice = draw_one if feedback_kind(learner) == "bandit" else draw_from_play
    # Numba keeps one index on disk for a function's name and writes it without a lock: two processes that compile two
    # learners, two versions of one, or one for two types, could each overwrite what the other wrote. So each has a name
    # of its own. A single step keeps Python's lock: it is then atomic, and faster.
    functions: dict[str, Any] = {
        "run": run,
        "run_lazy": run,
        "play": one_play,
        "choose": one_choice,
        "learn_full": learn_full,
        "learn_bandit": learn_bandit,
        "learn_one": learn_one,
    }
    for name, function in functions.items():
        own = FunctionType(function.__code__, function.__globals__, function.__name__, None, function.__closure__)
        own.__module__, own.__qualname__ = __name__, f"{name}.{learner.__module__}.{learner.__qualname__}.{stamp[:16]}"
        functions[name] = program(own, keep=stamp != UNSAVED, alone=name in ("run", "run_lazy"))
    return Loops(**functions)


def loops(learner: Any) -> Loops:
    """The loop and the single steps of a class of learner."""
    return _loops(compiled_form(learner))
