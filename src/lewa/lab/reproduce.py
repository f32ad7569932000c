"""The paper's claims, what is true of them, and what is measured: each learner on two games at growing horizons."""

from typing import Any, NamedTuple

from rich.console import Console
from rich.progress import Progress

from lewa import games, learners
from lewa.measures import Guarantee, regret, violation
from lewa.play import play
from lewa.rounds import Trace
from lewa.show.tables import number, numbers, table

HORIZONS = (1_000, 10_000, 100_000)
SEEDS = 8
IDLE, BINDING = 0.5, 0.7  # floors: on the counterexample nothing binds, on the Bernoulli game it does


class Claim(NamedTuple):
    """A learner and what is said of it."""

    learner: str
    settings: dict[str, Any]
    paper: str
    truth: str


CLAIMS = (
    Claim("lewa", {"tuning": "paper"}, "Thm 1: 3 sqrt(T ln K); T^3/4", "2 sqrt(T ln K); T^3/4"),
    Claim("lewa", {}, "-", "sqrt(T ln K) + sqrt(T)/2; T^3/4"),
    Claim("hp-lewa", {}, "Thm 2, w.h.p.: T^1/2; T^3/4", "so, with a wider radius"),
    Claim("bandit-lewa@printed", {}, "Thm 3: T^3/4; T^3/4", "T; T with its proof's tuning"),
    Claim("bandit-lewa@printed", {"delta": 0.125}, "Thm 3 leaves delta free", "nothing is proved"),
    Claim("bandit-lewa", {}, "-", "T^3/4; T^3/4"),
    Claim("hp-bandit-lewa@printed", {}, "Thm 4, w.h.p.: T^7/8; T^7/8", "T: its weights have no memory"),
    Claim("hp-bandit-lewa", {}, "-", "w.h.p.: T^1/2; T^3/4"),
)


class Row(NamedTuple):
    """A claim measured: means over seeds, per round, at each horizon; and what is proved at the longest."""

    claim: Claim
    idle: tuple[float, ...]  # regret where nothing binds
    regret: tuple[float, ...]  # where the floor binds
    violation: tuple[float, ...]  # there
    proved: Guarantee  # there


def measure(claim: Claim) -> Row:
    """Play the learner on both games at every horizon."""
    idle = [_play(claim, games.Counterexample(), IDLE, T) for T in HORIZONS]
    bound = [_play(claim, games.Bernoulli(), BINDING, T) for T in HORIZONS]
    trace = bound[-1]
    proved = trace.learner.guarantees(trace.game.actions, trace.rounds, trace.game.setting)[0]
    return Row(
        claim,
        tuple(float(regret(trace).mean()) / trace.rounds for trace in idle),
        tuple(float(regret(trace).mean()) / trace.rounds for trace in bound),
        tuple(float(violation(trace).mean()) / trace.rounds for trace in bound),
        proved,
    )


def _play(claim: Claim, game: Any, floor: float, rounds: int) -> Trace:
    learner = learners.make(claim.learner, game.actions, rounds, floor, **claim.settings)
    return play(learner, game, rounds, SEEDS)


def name(claim: Claim) -> str:
    """The learner with what was set."""
    return " ".join([claim.learner, *(f"{key}={value}" for key, value in claim.settings.items())])


def cells(row: Row) -> tuple[str, ...]:
    """A row as text."""
    measured = (" ".join(f"{x:.3f}" for x in values) for values in (row.idle, row.regret, row.violation))
    proved = "none" if row.proved.regret is None else f"{number(row.proved.regret)}; {numbers(row.proved.violation)}"
    return name(row.claim), row.claim.paper, row.claim.truth, *measured, proved


COLUMNS = (
    "learner",
    "the paper: regret; violation",
    "true: regret; violation",
    "`counterexample`: regret",
    "`bernoulli`: regret",
    "`bernoulli`: violation",
    "proved there at T = 10^5",
)


def markdown(rows: list[Row]) -> str:
    """The table for the README."""
    lines = [COLUMNS, tuple("---" for _ in COLUMNS), *(cells(row) for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def reproduce(console: Console, as_markdown: bool = False) -> list[Row]:
    """Measure every claim and print the table."""
    rows = []
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=len(CLAIMS))
        for claim in CLAIMS:
            progress.update(task, description=name(claim))
            rows.append(measure(claim))
            progress.advance(task)
    if as_markdown:
        print(markdown(rows))
        return rows
    caption = (
        f"Per round, means over {SEEDS} seeds at T = 10^3, 10^4, 10^5. `counterexample` at floor {IDLE}, where nothing "
        f"binds and there is no violation; `bernoulli` at floor {BINDING}, where a learner that violates can have negative "
        "regret."
    )
    console.print(
        table(
            "What the paper claims, what is true, what is measured",
            *COLUMNS,
            rows=[cells(row) for row in rows],
            caption=caption,
        )
    )
    return rows
