"""The rules of a watchdog: what they are judged by, and what they do if that cannot be known."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from lewa.agent import Agent
from lewa.agent.status.readings import readings
from lewa.agent.status.verdicts import Reading
from lewa.serve.schema import Watch


class Watched(NamedTuple):
    """The first rule that is broken, with the reason, and the rules that cannot be judged by all values."""

    broken: tuple[Watch, str] | None
    blind: list[tuple[str, str]]  # the constraint of each rule, and a sentence


def check_watchdog(rules: Sequence[Watch], agent: Agent) -> None:
    """Raise an error for rules that can never apply."""
    names = [item.name for item in agent.setup.constraints]
    for rule in rules:
        if rule.constraint not in names:
            raise ValueError(f"there is no constraint {rule.constraint!r} to watch: there are {', '.join(names)}")
        if (rule.band is None) == (rule.debt is None):
            raise ValueError(f"the watch on {rule.constraint} needs one of band and debt")
    if rules and agent.exposure.fallback is None:
        raise ValueError("a watchdog needs safety.fallback, the action to which it switches")


def watch(rules: Sequence[Watch], agent: Agent) -> Watched:
    """Judge the rules; none is broken while the learner does not decide."""
    if not rules:
        return Watched(None, [])
    seen = readings(agent)
    blind = [(rule.constraint, _blind_text(rule)) for rule in rules if _is_blind(rule, seen[rule.constraint])]
    return Watched(_broken(rules, seen) if agent.exposure.mode in ("live", "frozen") else None, blind)


def _is_blind(rule: Watch, line: Reading) -> bool:
    """Whether the values leave unknown what the rule is about; before the first value nothing is."""
    if rule.debt is not None:
        return line.debt is None
    return line.clipped_low is not None and (line.low if line.sense == "at most" else line.high) is None


def _blind_text(rule: Watch) -> str:
    what = "debt" if rule.debt is not None else "band"
    does = "it judges values clipped to the range" if rule.if_blind == "act" else 'it rests (if_blind "warn")'
    why = "by all values, because some lay outside the range"
    return f"the watchdog cannot judge the {what} of {rule.constraint} {why}: {does}"


def _broken(rules: Sequence[Watch], seen: Mapping[str, Reading]) -> tuple[Watch, str] | None:
    for rule in rules:
        line = seen[rule.constraint]
        blind = _is_blind(rule, line)
        if blind and rule.if_blind == "warn":
            continue
        of = f"{rule.constraint}, of values clipped to the range" if blind else rule.constraint
        debt = line.clipped_debt if blind or line.debt is None else line.debt
        if rule.debt is not None and debt > rule.debt:
            return rule, f"watchdog: the debt of {of} is {debt:.6g}, above {rule.debt:g}"
        if rule.band is None:
            continue
        low, high = (line.clipped_low, line.clipped_high) if blind else (line.low, line.high)
        over = low is not None and low > rule.band
        under = high is not None and high < rule.band
        if over if line.sense == "at most" else under:
            return rule, f"watchdog: the whole band of {of}, {low} to {high}, is beyond {rule.band:g}"
    return None
