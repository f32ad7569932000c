"""The paper's claims, what is true of them, and what is measured: each learner on two games at growing horizons."""

from typing import Any, NamedTuple

from rich.console import Console
from rich.progress import Progress

from lewa import games, learners
from lewa.measures import regret, violation
from lewa.play import play
from lewa.show.tables import number, numbers, table

HORIZONS = (1_000, 10_000, 100_000)
SEEDS = 8
REGRET_FLOOR, VIOLATION_FLOOR = 0.5, 0.7  # on the counterexample nothing binds; on the Bernoulli game the floor does


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
    """A claim measured: per round, the mean over seeds, at each horizon; and what is proved at the longest."""

    claim: Claim
    regret: tuple[float, ...]
    violation: tuple[float, ...]
    proved: Any


def measure(claim: Claim) -> Row:
    """Play the learner on both games at every horizon."""
    regrets: list[float] = []
    violations: list[float] = []
    for horizon in HORIZONS:
        for game, floor, sums in (
            (games.Counterexample(), REGRET_FLOOR, regrets),
            (games.Bernoulli(), VIOLATION_FLOOR, violations),
        ):
            learner = learners.make(claim.learner, game.actions, horizon, floor, **claim.settings)
            trace = play(learner, game, horizon, SEEDS)
            found = regret(trace) if sums is regrets else violation(trace)[:, 0]
            sums.append(float(found.mean()) / horizon)
    proved = trace.learner.guarantees(game.actions, HORIZONS[-1], game.setting)[0]
    return Row(claim, tuple(regrets), tuple(violations), proved)


def name(claim: Claim) -> str:
    """The learner with what was set."""
    return " ".join([claim.learner, *(f"{key}={value}" for key, value in claim.settings.items())])


def cells(row: Row) -> tuple[str, ...]:
    """A row as text."""
    falls = " ".join(f"{x:.3f}" for x in row.regret), " ".join(f"{x:.3f}" for x in row.violation)
    proved = "none" if row.proved.regret is None else f"{number(row.proved.regret)}; {numbers(row.proved.violation)}"
    return name(row.claim), row.claim.paper, row.claim.truth, *falls, proved


COLUMNS = (
    "learner",
    "the paper: regret; violation",
    "true: regret; violation",
    "regret a round",
    "violation a round",
    "proved at T = 10^5",
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
        f"Means over {SEEDS} seeds at T = 10^3, 10^4, 10^5. Regret on the game `counterexample` at floor {REGRET_FLOOR}, "
        f"violation on `bernoulli` at floor {VIOLATION_FLOOR}; proved bounds for the latter."
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
