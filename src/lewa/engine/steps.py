"""The single steps of a round: write the play, draw an action, learn. Each function makes one for a class of learner."""

from collections.abc import Callable
from typing import TypeAlias

from lewa.feedback import Bandit, FeedbackKind, Full, feedback_kind
from lewa.kernels import pick, uniform, unpack
from lewa.kernels.dispatch import charge, choose, learn, play, release
from lewa.kernels.jit import rule
from lewa.learners.base import Learner
from lewa.types import Indices, Matrix, Vector, Words

PlayStep: TypeAlias = Callable[[Vector, Vector], None]  # the play of the buffer's learner, into an array
ChooseStep: TypeAlias = Callable[..., tuple[int, float]]  # an action and its propensity, by the dice of round t
LearnFull: TypeAlias = Callable[
    [Vector, Vector, Matrix, Vector, Vector, Vector], None
]  # the buffer, and the fields of `Full`
ChargeStep: TypeAlias = Callable[[Vector, int], None]  # of the action drawn
ReleaseStep: TypeAlias = Callable[[Vector, Vector], None]  # the buffer, and what was charged
LearnBandit: TypeAlias = Callable[
    [Vector, int, float, float, Vector, Vector, Vector], None
]  # the buffer, and those of `Bandit`
DrawMany: TypeAlias = Callable[[Vector, Words, int, Vector, Vector, Indices, Matrix, Matrix], None]  # actions in a row
LearnMany: TypeAlias = Callable[[Vector, Vector, Indices, Vector, Matrix, Matrix, Matrix, Matrix], None]  # answers in a row

# The types of the arguments of each step, as Numba writes them; `choose_itself` is that of a learner that draws by itself.
TYPES = {
    "play": "(f8[::1], f8[::1])",
    "choose": "(f8[::1], u8[::1], i8, f8[::1])",
    "choose_itself": "(f8[::1], u8[::1], i8)",
    "charge": "(f8[::1], i8)",
    "release": "(f8[::1], f8[::1])",
    "learn_full": "(f8[::1], f8[::1], f8[:, ::1], f8[::1], f8[::1], f8[::1])",
    "learn_bandit": "(f8[::1], i8, f8, f8, f8[::1], f8[::1], f8[::1])",
    "draw_many": "(f8[::1], u8[::1], i8, f8[::1], f8[::1], i8[::1], f8[:, ::1], f8[:, ::1])",
    "learn_many": "(f8[::1], f8[::1], i8[::1], f8[::1], f8[:, ::1], f8[:, ::1], f8[:, ::1], f8[:, ::1])",
}


@rule
def copy(values: Vector, to: Vector) -> None:
    """Write values to the beginning of an array."""
    for j in range(values.size):
        to[j] = values[j]


def play_step(learner: type[Learner]) -> PlayStep:
    """Make the step that writes the play into an array."""

    def step(memory: Vector, p: Vector) -> None:
        self, s = unpack(learner, memory)
        play(self, s, p)

    return step


def choose_step(learner: type[Learner]) -> ChooseStep:
    """Make the step that draws an action, for a learner that draws by itself."""

    def step(memory: Vector, dice: Words, t: int) -> tuple[int, float]:
        self, s = unpack(learner, memory)
        action: tuple[int, float] = choose(self, s, uniform(dice[0], t))
        return action

    return step


def choose_from_play_step(learner: type[Learner]) -> ChooseStep:
    """Make the step that draws an action from the play, which is left in p."""

    def step(memory: Vector, dice: Words, t: int, p: Vector) -> tuple[int, float]:
        self, s = unpack(learner, memory)
        play(self, s, p)
        i = pick(p, uniform(dice[0], t))
        return i, p[i]

    return step


def charge_step(learner: type[Learner]) -> ChargeStep:
    """Make the step that charges the constraints for the action drawn."""

    def step(memory: Vector, action: int) -> None:
        self, s = unpack(learner, memory)
        charge(self, s, action)

    return step


def release_step(learner: type[Learner]) -> ReleaseStep:
    """Make the step for a decision whose answer will not be learned."""

    def step(memory: Vector, charged: Vector) -> None:
        self, s = unpack(learner, memory)
        release(self, s, charged)

    return step


def learn_full_step(learner: type[Learner]) -> LearnFull:
    """Make the step that learns from full information."""

    def step(memory: Vector, rewards: Vector, constraints: Matrix, met: Vector, p: Vector, charged: Vector) -> None:
        self, s = unpack(learner, memory)
        learn(self, s, Full(rewards, constraints, met, p, charged))

    return step


def learn_bandit_step(learner: type[Learner]) -> LearnBandit:
    """Make the step that learns from bandit feedback."""

    def step(
        memory: Vector, action: int, propensity: float, reward: float, constraints: Vector, p: Vector, charged: Vector
    ) -> None:
        self, s = unpack(learner, memory)
        learn(self, s, Bandit(action, propensity, reward, constraints, p, charged))

    return step


def draw_many_step(learner: type[Learner]) -> DrawMany:
    """Make the step that draws actions in a row.

    Row n of `numbers` gets the propensity of draw n, the multipliers before it, and what was charged for it; `multiplier`
    and `charged` are views of the buffer, or empty. `plays` has a row for each play; it may have no column for a learner
    that draws by itself.
    """
    itself = feedback_kind(learner) is FeedbackKind.BANDIT  # Numba leaves out the other branch

    def step(
        memory: Vector,
        dice: Words,
        t: int,
        multiplier: Vector,
        charged: Vector,
        actions: Indices,
        numbers: Matrix,
        plays: Matrix,
    ) -> None:
        self, s = unpack(learner, memory)
        for n in range(actions.size):
            if itself:
                i, propensity = choose(self, s, uniform(dice[0], t + n))
                if plays.shape[1] > 0:
                    play(self, s, plays[n])
            else:
                play(self, s, plays[n])
                i = pick(plays[n], uniform(dice[0], t + n))
                propensity = plays[n, i]
            actions[n], numbers[n, 0] = i, propensity
            copy(multiplier, numbers[n, 1:])
            charge(self, s, i)
            copy(charged, numbers[n, 1 + multiplier.size :])

    return step


def learn_many_step(learner: type[Learner]) -> LearnMany:
    """Make the step that learns whole answers in a row from bandit feedback; `multipliers` gets those before each."""

    def step(
        memory: Vector,
        multiplier: Vector,
        actions: Indices,
        propensities: Vector,
        units: Matrix,
        plays: Matrix,
        charged: Matrix,
        multipliers: Matrix,
    ) -> None:
        self, s = unpack(learner, memory)
        for n in range(actions.size):
            copy(multiplier, multipliers[n])
            learn(self, s, Bandit(actions[n], propensities[n], units[n, 0], units[n, 1:], plays[n], charged[n]))

    return step
