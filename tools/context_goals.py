"""What docs/contexts.md aims at, and where its own tables miss it: the section that `make contexts` writes below the intro.

python -m tools.context_goals        writes the section anew, from the tables of the page
"""

import re
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).parent.parent / "docs" / "contexts.md"
HEAD, DEFAULT = "## Goals", "squarecb-lewa"
SHUFFLED = f"{DEFAULT}, contexts shuffled"
SHARE, USED, ROUNDS = 97.0, 1.005, 20_000  # of the group policy, of the limit; for so many rounds
LATE = 1000  # rounds
ORDERS = ("random", "file")  # of the rounds
LOSS = 1.0  # per cent that late answers, or a useless context, may cost
AGENT_TIME, ROUND_TIME = 60.0, 15.0  # microseconds
IN_HINDSIGHT, WITH_DELAY = "linear, full information, in hindsight", "linear, full information, 1,000 late"
BLIND = f"{DEFAULT}, the best fixed mixture for {LATE:,} rounds"
KERNEL = "kernel features"  # a row of the learner with other features
CURVED = "curved confidence"  # another one, on the services
SPEECH, SPEECH_SHARE, SPEECH_LATE = "context_speech_command", 97.5, 98.0


class Result(NamedTuple):
    """What a learner came to, in per cent of the group policy, in random and in file order."""

    rewards: tuple[float, float]
    used: tuple[float, float]
    time: float

    def text(self) -> str:
        return f"{self.rewards[0]:g} % and {self.rewards[1]:g} %"

    def loss(self, other: "Result") -> float:
        """Return by how many per cent this earns less than the other, in the worse order."""
        return max(self.losses(other))

    def losses(self, other: "Result") -> list[float]:
        """Return by how many per cent this earns less than the other, in each order."""
        return [100 * (1 - mine / theirs) for mine, theirs in zip(self.rewards, other.rewards, strict=True)]


class Section(NamedTuple):
    """A table of the page."""

    title: str
    rounds: int
    results: dict[str, Result]

    def blind(self, order: int) -> str:
        """Return what the rounds before the first late answer cost in this order, where that alone exceeds the goal."""
        loss = self.results[BLIND].losses(self.results[DEFAULT])[order] if BLIND in self.results else 0.0
        return f"; {loss:.1f} % by the rounds before the first answer" if loss > LOSS else ""


def sections(page: str) -> list[Section]:
    """Return the tables of the page."""
    found = []
    for text in re.split(r"^### ", page.split("\n## Beside")[0], flags=re.MULTILINE)[1:]:
        title, rounds = text.split("\n", 1)[0], re.search(r"([\d,]+) rounds", text)
        rows = re.findall(
            r"^\| (\S.*?) \| ([\d.]+)% \| ([\d.]+) \| ([\d.]+)% \| ([\d.]+) \| ([\d.]+|-) \|$", text, re.MULTILINE
        )
        results = {
            name: Result((float(a), float(b)), (float(u), float(v)), 0.0 if us == "-" else float(us))
            for name, a, u, b, v, us in rows
        }
        assert rounds is not None
        found.append(Section(title, int(rounds[1].replace(",", "")), results))
    return found


def goals(page: str) -> list[str]:
    """Return the lines of the section: each goal with the places where it is missed."""
    tables = sections(page)
    long = [table for table in tables if table.rounds >= ROUNDS]
    late = [(table, name) for table in tables for name in table.results if name.startswith(f"{DEFAULT}, answers")]
    in_agent = re.search(r"take (\d+) us", " ".join(page.split()))
    assert in_agent is not None
    speech = [table for table in tables if table.title.startswith(SPEECH)]
    spent = [(table, max(table.results[DEFAULT].used)) for table in long]
    blind = [(table, table.results[DEFAULT].loss(table.results[f"{DEFAULT}, without context"])) for table in tables]
    noisy = [t for t in tables if SHUFFLED in t.results]
    noise = [(t, t.results[SHUFFLED].loss(t.results[f"{DEFAULT}, without context"])) for t in noisy]
    return [
        _goal(
            f"`{DEFAULT}` earns at least {SHARE:g} % of the best policy of groups in at least {ROUNDS:,} rounds.",
            [
                f"{t.title} ({t.results[DEFAULT].text()}{_ceiling(t)})"
                for t in long
                if min(t.results[DEFAULT].rewards) < SHARE
            ],
        ),
        *_other_rows(long),
        _goal(
            f"It spends at most {USED:g} of the limit.",
            [f"{table.title} ({used:.3f})" for table, used in spent if used > USED],
        ),
        _goal(
            f"It earns at most {LOSS:g} % less than without context.",
            [f"{table.title} ({loss:.1f} %)" for table, loss in blind if loss > LOSS],
        ),
        *(
            [_goal("The same where contexts are shuffled.", [f"{t.title} ({x:.1f} %)" for t, x in noise if x > LOSS])]
            if noise
            else []
        ),
        *(_late_goal(late, DEFAULT, order) for order in (0, 1)),
        *_late_goals(tables, late),
        _goal(
            f"On the speech set it earns at least {SPEECH_SHARE:g} %.",
            [f"{t.title} ({t.results[DEFAULT].text()})" for t in speech if min(t.results[DEFAULT].rewards) < SPEECH_SHARE],
        ),
        *(_late_speech([pair for pair in late if pair[0] in speech], order) for order in (0, 1)),
        *_curved_goals(tables),
        _goal(
            f"A round of the speech set, with 4 actions and 33 features, takes less than {ROUND_TIME:g} us.",
            [f"{t.title} ({t.results[DEFAULT].time:g} us)" for t in speech if t.results[DEFAULT].time >= ROUND_TIME],
        ),
        _goal(
            f"A `pull` and its `update` with 32 features and 10 actions take less than {AGENT_TIME:g} us.",
            [f"{in_agent[1]} us"] if float(in_agent[1]) >= AGENT_TIME else [],
        ),
    ]


def _other_rows(tables: list[Section]) -> list[str]:
    """Return the first goal for the row of each table that has other features; nothing without one."""
    best = [(t, max(rows, key=lambda row: min(row.rewards))) for t in tables if (rows := list(_wider(t).values()))]
    missed = [f"{t.title} ({row.text()})" for t, row in best if min(row.rewards) < SHARE or max(row.used) > USED]
    return [_goal("The same with kernel features, where there is such a row.", missed)] if best else []


def _wider(table: Section) -> dict[str, Result]:
    return {name: result for name, result in table.results.items() if name.endswith(KERNEL)}


def _ceiling(table: Section) -> str:
    """Return what linear functions of the features can earn, and the learner with other features, if the table has them."""
    best = table.results.get(IN_HINDSIGHT)
    text = "" if best is None else f"; linear in hindsight: {max(best.rewards):g} %"
    wider = _wider(table).items()
    return text + "".join(f"; {name.removeprefix(f'{DEFAULT}, ')}: {result.text()}" for name, result in wider)


def _late_goal(late: list[tuple[Section, str]], name: str, order: int, known: str = "") -> str:
    """Return the goal of late answers in one order of the rounds; the row `name` has the same without delay."""
    lost = [(table, table.results[row].losses(table.results[name])[order]) for table, row in late]
    missed = [
        f"{table.title} ({loss:.1f} %{table.blind(order) if name == DEFAULT else ''})" for table, loss in lost if loss > LOSS
    ]
    return _goal(f"Answers that are late{known} cost at most {LOSS:g} % in {ORDERS[order]} order.", missed)


def _late_speech(late: list[tuple[Section, str]], order: int) -> str:
    """Return the goal of late answers on the speech set in one order of the rounds."""
    rewards = [(table, table.results[row].rewards[order]) for table, row in late]
    missed = [f"{table.title} ({reward:g} %)" for table, reward in rewards if reward < SPEECH_LATE]
    return _goal(f"There it earns at least {SPEECH_LATE:g} % with late answers in {ORDERS[order]} order.", missed)


def _late_goals(tables: list[Section], late: list[tuple[Section, str]]) -> list[str]:
    """Return the goals of late answers beside what is known: the prices, and how much a linear policy loses by the delay."""
    known, told = f"{DEFAULT}, prices expected", [pair for pair in late if WITH_DELAY in pair[0].results]
    priced = [(t, name) for t in tables for name in t.results if name.startswith(f"{known}, answers")]
    behind = [(t, t.results[name].loss(t.results[WITH_DELAY])) for t, name in told]
    lines = [_late_goal(priced, known, 0, " with expected prices")] if priced else []
    if behind:
        missed = [f"{t.title} ({100 - loss:.1f} %)" for t, loss in behind if loss > 100 - SHARE]
        text = f"Late answers earn at least {SHARE:g} % of `{WITH_DELAY}`, which is told the reward of every action."
        lines.append(_goal(text, missed))
    return lines


def _curved_goals(tables: list[Section]) -> list[str]:
    """Return the goals of late answers for the rows with a curved confidence, in random order; nothing without such rows."""
    name = f"{DEFAULT}, {CURVED}"
    pairs = [(t, late) for t in tables for late in t.results if late.startswith(f"{name}, answers")]
    if not pairs:
        return []
    lost = [(t, t.results[late].losses(t.results[name])[0]) for t, late in pairs]
    speech = [(t, t.results[late].rewards[0]) for t, late in pairs if t.title.startswith(SPEECH)]
    return [
        _goal(
            f"With a curved confidence, answers that are late cost at most {LOSS:g} % in random order.",
            [f"{t.title} ({loss:.1f} %)" for t, loss in lost if loss > LOSS],
        ),
        _goal(
            f"On the speech set it then earns at least {SPEECH_LATE:g} % with late answers in random order.",
            [f"{t.title} ({reward:g} %)" for t, reward in speech if reward < SPEECH_LATE],
        ),
    ]


def _goal(text: str, missed: list[str]) -> str:
    return f"- {text} " + (f"**Missed**: {'; '.join(missed)}." if missed else "Met.")


def with_goals(page: str) -> str:
    """Return the page with the section that its tables ask for."""
    before, first, after = page.partition("\n### ")
    before = before.split(f"\n{HEAD}\n")[0].rstrip("\n")
    intro = "What the figures below are compared with, in both orders of the rounds:"
    return "\n".join([before, "", HEAD, "", intro, "", *goals(page), ""]) + first + after


if __name__ == "__main__":
    PAGE.write_text(with_goals(PAGE.read_text()))
