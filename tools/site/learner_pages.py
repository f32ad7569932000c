"""One page for each learner, from its docstring, its guarantees and a short game: nothing on it is typed in."""

import os
import re
from functools import cache
from hashlib import sha256
from inspect import getsourcefile
from pathlib import Path
from typing import Any

import numpy as np

import lewa
from lewa import figures
from lewa.feedback import feedback_kind
from lewa.kernels import NATURE, keys
from lewa.lab.storage import versions
from lewa.learners import ALL, FAMILIES, WRAPPERS, about, make, settings_of
from lewa.measures.trace import Trace
from lewa.report import page, panels
from lewa.types import Matrix, Vector
from tools.guarantees import ACTIONS, EPSILON, FLOOR, ROUNDS, head, line, number
from tools.site.prose import blocks, fenced, prose

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "build" / "pictures"
SHOWN = {"full": "full information", "bandit": "bandit", "dense": "bandit"}
# The game of the pictures. Rules run as plain Python, so that nothing is compiled. A test of the site asks for fewer rounds,
# and for one picture where several learners have panels of the same kinds.
SHORT, SEED = int(os.environ.get("LEWA_PICTURE_ROUNDS", "4000")), 0
SHARED: dict[tuple[Any, ...], list[str]] | None = {} if "LEWA_PICTURE_ROUNDS" in os.environ else None
SEEN = np.unique(np.geomspace(1, SHORT, 300).astype(np.int64))  # the rounds that are drawn
GAME = lewa.games.Bernoulli()
SAFE, MARGIN = GAME.actions - 1, 0.3  # an action of it, and by how much it exceeds the floor
PARTS = ("Order", "Parameters", "Reading", "Reference")
ASKED: dict[str, dict[str, Any]] = {
    "have a fixed mean": {},
    f"have a fixed mean, for the single run with probability {1 - EPSILON:g}": {"epsilon": EPSILON},
    "are the same every round": {"constraints": "constant"},
    "are arbitrary": {"constraints": "arbitrary"},
}


def slug(name: str) -> str:
    """The file of a learner's page."""
    return f"learners/{name.replace('@', '-')}.md"


def pages() -> dict[str, str]:
    """Every page by its file, the list of all of them first."""
    return {"learners/index.md": index(), **{slug(name): learner_page(name) for name in ALL}}


def kinds() -> dict[str, list[str]]:
    """The names by family, under a title."""
    return {capital(family): list(members) for family, members in FAMILIES.items()}


# The list ----------------------------------------------------------------------------------------------------------------


def index() -> str:
    """All learners, what they see, and what kind of thing is proved of them."""
    parts = [INTRODUCTION]
    for title, names in kinds().items():
        fixed, single, _, arbitrary = ASKED
        rows = [
            line(
                f"[`{name}`]({Path(slug(name)).name})",
                SHOWN[feedback_kind(ALL[name])],
                prose(about(name)),
                kind_proved(name, fixed, single),
                kind_proved(name, arbitrary),
            )
            for name in names
        ]
        parts.append("\n".join((f"## {title}\n", head("name", "feedback", "what it is", "fixed mean", "arbitrary"), *rows)))
    parts.append("## Wrappers\n\nA wrapper changes a learner: `NAME+WRAPPER` is the name of a learner too.")
    parts += [f"### {name}\n\n{body(str(wrapper.__doc__))}" for name, wrapper in WRAPPERS.items()]
    return "\n\n".join(parts)


INTRODUCTION = f"""# Learners

A learner is an algorithm that chooses actions. Each learner is one short file. Make one by name,
`lewa.learners.make("lewa", 3, 10_000, floor=0.6)`, or by class, `lewa.learners.Lewa.tuned(...)`. `lewa.advise` recommends
one for your problem; [guarantees by setting](../guarantees.md) compares their bounds.

The last two columns give the kind of bound that is proved for the violation, for constraints with a fixed mean and for
arbitrary constraints. *Pathwise* bounds hold in every run, *expected* bounds hold on average over runs, and *high
probability* bounds hold in a single run with probability {1 - EPSILON:g}. An empty cell means that only the trivial bound is
known. The numbers behind the table are K = {ACTIONS} actions, T = {ROUNDS:,} rounds and floor {FLOOR:g}, with the
recommended tuning."""


def kind_proved(name: str, *asked: str) -> str:
    """How what is proved of its violation holds in these settings, in a word or two."""
    found = [said for setting, said in statements(name) if setting in asked and told(said)]
    return ", ".join(dict.fromkeys(str(said.kind).split(" [")[0].split(" E[")[0] for said in found))


def told(said: lewa.Guarantee) -> bool:
    """Whether its violation is bounded by less than the trivial bound."""
    return said.violation is not None and max(said.violation) < FLOOR * ROUNDS


# One learner -------------------------------------------------------------------------------------------------------------


def code(name: str, kind: type[lewa.learners.Learner], where: str, examples: list[str]) -> str:
    """The class, and its tuning; of a reading of the same class only where it is."""
    if name != next(first for first, other in ALL.items() if other is kind):
        tuning = name.partition("@")[2]
        return f'The class is [`lewa.learners.{kind.__name__}`][{where}], made with `tuning="{tuning}"`.'
    path = Path(str(getsourcefile(kind)))
    return f"""::: {where}
    options:
      heading: lewa.learners.{kind.__name__}
      members: false
      show_docstring_description: false
      show_source: false

{chr(10).join(map(fenced, examples))}

::: {where}.tuned
    options:
      heading: lewa.learners.{kind.__name__}.tuned
      show_source: false

??? note "The whole file, {path.name}"

    ```python
{indented(path.read_text())}
    ```"""


def learner_page(name: str) -> str:
    """The page of a learner."""
    kind = ALL[name]
    first, *rest = blocks(str(kind.__doc__))
    examples = [block for block in rest if block.startswith(">>>")]
    path = Path(str(getsourcefile(kind)))
    where = f"{kind.__module__}.{kind.__qualname__}"
    return f"""# {name}

{prose(about(name))}
{{ .lead }}

| feedback | class | file |
|---|---|---|
| {SHOWN[feedback_kind(kind)]} | [`lewa.learners.{kind.__name__}`][{where}] | `{path.relative_to(ROOT).as_posix()}` |

{body(str(kind.__doc__), (first, *examples), "## Reading" + 2 * chr(10))}

## What is proved

{proofs(name)}

## At work

{picture(name)}

## In code

{code(name, kind, where, examples)}
"""


def body(docstring: str, without: tuple[str, ...] = (), reading: str = "**Reading.** ") -> str:
    """The docstring, with the names of its parts in front of them."""
    parts = []
    for block in blocks(docstring):
        label, colon, text = block.partition(":")
        if block in without:
            continue
        if not colon or label not in PARTS:
            parts.append(fenced(block))
            continue
        text = text.strip() if label == "Parameters" else capital(text.strip())
        parts.append((reading if label == "Reading" else f"**{label}.** ") + linked(prose(text)))
    return "\n\n".join(parts)


def capital(text: str) -> str:
    """The text, as a sentence of its own."""
    return text[:1].upper() + text[1:]


def linked(text: str) -> str:
    """Names of documents as links to their pages."""
    return re.sub(r"docs/(\w+)\.md", r"[docs/\1.md](../\1.md)", text)


def indented(text: str) -> str:
    """The text as it stands in a block of Markdown."""
    return "\n".join(f"    {row}".rstrip() for row in text.rstrip().splitlines())


# What is proved ----------------------------------------------------------------------------------------------------------


def made(name: str, actions: int, rounds: int, floor: float, **settings: Any) -> Any:
    """Return the learner, tuned as recommended, with the settings that it has; one that needs a safe action gets one."""
    known = settings_of(name)
    settings |= {"safe": SAFE, "margin": MARGIN}
    return make(name, actions, rounds, floor, **{key: value for key, value in settings.items() if key in known})


@cache
def statements(name: str) -> list[tuple[str, lewa.Guarantee]]:
    """What is proved in each setting that is asked about."""
    found = []
    for asked, setting in ASKED.items():
        learner = made(name, ACTIONS, ROUNDS, FLOOR, **({"epsilon": EPSILON} if "epsilon" in setting else {}))
        found.append((asked, lewa.guarantee(learner, ACTIONS, ROUNDS, **setting)))
    return found


def proofs(name: str) -> str:
    """The table of it; where nothing is proved, the reason."""
    rows, notes = [], []
    for asked, said in statements(name):
        if said.regret is None or said.violation is None:
            rows.append(line(asked, "", "", "", prose(said.reason)))
            continue
        each = "" if said.positive_violation is None else number(max(said.positive_violation))
        rows.append(
            line(asked, number(said.regret), number(max(said.violation)), each, prose(f"{said.source} ({said.kind})"))
        )
        notes += [note for note in said.assumptions if note not in notes]
    assumed = f"\n\nAssumptions: {'; '.join(notes)}." if notes else ""
    columns = head(
        "if constraints", "regret at most", "violation at most", "positive violation at most", "theorem (kind), or reason"
    )
    table = "\n".join((columns, *rows))
    told = f" The learner knows that action {SAFE} exceeds the floor by {MARGIN:g}." if "safe" in settings_of(name) else ""
    return f"""These bounds are for K = {ACTIONS} actions, T = {ROUNDS:,} rounds and a floor of {FLOOR:g}, with the
recommended tuning. The trivial bounds are {ROUNDS:,} for the regret and {FLOOR * ROUNDS:,.0f} for the violation. Nothing is
proved where a cell is empty.{told}

{table}{prose(assumed)}

`lewa guarantee {name} --actions 3 --rounds 10000 --floor 0.5` prints the bounds for other numbers.
[Guarantees by setting](../guarantees.md) compares all learners."""


# Pictures ----------------------------------------------------------------------------------------------------------------


def picture(name: str) -> str:
    """The learner at work, as a piece of HTML whose colours are the page's; kept, as long as no source has changed."""
    stamp = sha256(f"{name} {SHORT} {versions()} {Path(__file__).read_text()}".encode()).hexdigest()[:16]
    kept = PICTURES / f"{name.replace('@', '-')}-{stamp}.html"
    if not kept.exists():
        for old in PICTURES.glob(f"{name.replace('@', '-')}-{'?' * 16}.html"):
            old.unlink(missing_ok=True)
        PICTURES.mkdir(parents=True, exist_ok=True)
        part = kept.with_suffix(f".{os.getpid()}")  # whole or not there, whoever else builds at the same time
        part.write_text(draw(name))
        part.replace(kept)
    return kept.read_text()


def draw(name: str) -> str:
    """The game is played and four panels are drawn."""
    learner = made(name, GAME.actions, SHORT, FLOOR)
    trace = lewa.play(learner, GAME, SHORT, seeds=[SEED], every_round=True)
    said = lewa.guarantee(learner, GAME.actions, SHORT)
    regret, shortfall, multiplier, plays = paths(trace)
    drawing: list[figures.Panel] = [
        curve("regret", regret, said.regret),
        curve("violation", np.maximum(shortfall, 0.0), said.violation[0] if said.violation else None),
        against_the_line(shortfall),
        curve("multiplier", multiplier) if multiplier.any() else panels.Shares("play", SEEN, plays[SEEN - 1].T),
    ]
    pieces = panels_drawn(drawing, name)
    rewards, kept = (", ".join(f"{x:g}" for x in means) for means in (GAME.rewards, GAME.mean_constraints[0]))
    ends = [f"the regret is {whole(regret[-1])}", f"the violation is {whole(max(shortfall[-1], 0))}"]
    if said.regret is not None and said.violation is not None:
        ends[0] += f" (proved at most {whole(said.regret)})"
        ends[1] += f" (proved at most {whole(said.violation[0])})"
    return f"""<div class="panels">{"".join(pieces)}</div>

One run of the game `bernoulli`: three actions with mean rewards {rewards} and mean constraints {kept}, floor {FLOOR:g},
{SHORT:,} rounds. After the last round {" and ".join(ends)}. The best fixed play earns {lewa.hindsight(trace)[0].value:.2f}
per round.
{{ .caption }}"""


def panels_drawn(drawing: list[figures.Panel], name: str) -> list[str]:
    """Return the panels as pieces of HTML."""
    kinds = tuple((type(panel), panel.title, bool(getattr(panel, "levels", ()))) for panel in drawing)
    if SHARED is not None and kinds in SHARED:
        return SHARED[kinds]
    pieces = list(page.inline(figures.draw(drawing, name, ["svg"]), [panel.title for panel in drawing]))
    if SHARED is not None:
        SHARED[kinds] = pieces
    return pieces


def whole(x: float) -> str:
    """A number that may be negative."""
    return f"{round(x):,}".replace("-", "\N{MINUS SIGN}")


def paths(trace: Trace) -> tuple[Vector, Vector, Vector, Matrix]:
    """Of every round, as the measures have them at the end: regret, shortfall, multiplier, play."""
    assert trace.plays is not None
    assert trace.multipliers is not None
    plays, taken = trace.plays[0], np.eye(GAME.actions)[trace.actions[0]]
    rewards = GAME.block(keys(SEED)[NATURE : NATURE + 1], 0, SHORT).rewards
    earned = (plays if feedback_kind(type(trace.learner)) == "full" else taken) * rewards
    regret = np.cumsum(rewards @ lewa.hindsight(trace)[0].play - earned.sum(axis=1))
    shortfall = np.cumsum(FLOOR - (plays if trace.measured_on == "play" else taken) @ GAME.mean_constraints[0])
    assert np.allclose([regret[-1], shortfall[-1]], [lewa.regret(trace)[0], trace.shortfall[0, -1, 0]])
    return regret, shortfall, trace.multipliers[0, :, 0], plays


def curve(title: str, values: Vector, proved: float | None = None) -> panels.Curves:
    """One line, and what is proved of its end."""
    levels = () if proved is None else (panels.Level(title, figures.COLOURS[1], proved),)
    return panels.Curves(title, (seen(title, figures.COLOURS[0], values),), levels)


def against_the_line(shortfall: Vector) -> panels.Curves:
    """What the constraint was on average so far, and the floor."""
    average = FLOOR - shortfall / np.arange(1, SHORT + 1)
    floor = seen(f"floor {FLOOR:g}", figures.COLOURS[1], np.full(SHORT, FLOOR))
    return panels.Curves("the constraint on average", (seen("so far", figures.COLOURS[0], average), floor))


def seen(name: str, colour: str, values: Vector) -> figures.Curve:
    """A line through as many rounds as can be told apart."""
    at = values[SEEN - 1]
    return figures.Curve(name, SEEN.astype(np.float64), at, at, at, colour=colour)
