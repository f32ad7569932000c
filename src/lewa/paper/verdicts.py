"""Claims and their verdicts, with a line for each quantity."""

from typing import NamedTuple

from lewa.measures.rate_fit import fit_rate
from lewa.paper.rules import Rule
from lewa.paper.series import Series


class VerdictLine(NamedTuple):
    """A line of the verdict table: the statement of a claim about one quantity, and the measurement."""

    claim: str
    quantity: str  # one of `series.QUANTITIES`
    game: str  # the game that is nearest to the bound
    learner: str  # the learner with its settings
    rounds: int  # the longest horizon, at which bound and measured are taken
    sense: str  # "<=", ">=" or "="
    bound: float | None
    formula: str  # the formula of the bound
    measured: float
    ratio: float | None  # measured divided by bound
    slope: float | None  # the slope of the log-log line through all horizons; None if no line can be fitted
    low: float | None
    high: float | None
    exponent: float | None  # the exponent of the theorem
    holds: bool
    study: str
    why: str  # the reason for `holds`


class Claim(NamedTuple):
    """The rule for each quantity, and the study that measures it."""

    title: str
    study: str
    rules: dict[str, Rule]


def verdict(claim: Claim, every: list[Series]) -> list[VerdictLine]:
    """Return the lines of one claim, from the series of its study."""
    return [_line(claim, quantity, rule, every) for quantity, rule in claim.rules.items()]


def _line(claim: Claim, quantity: str, rule: Rule, every: list[Series]) -> VerdictLine:
    about = [series for series in every if _named(series.game, rule.game) and _named(series.learner, rule.learner)]
    if not about:
        raise ValueError(f"{claim.title}: the study {claim.study} has no run for this claim")
    finding = rule.judge(quantity, about)
    series, measured = finding.series, finding.values[-1]
    fit = fit_rate(series.rounds, finding.values)
    return VerdictLine(
        claim=claim.title,
        quantity=quantity,
        game=series.game,
        learner=series.learner,
        rounds=series.rounds[-1],
        sense=finding.sense,
        bound=finding.bound,
        formula=finding.formula,
        measured=measured,
        ratio=measured / finding.bound if finding.bound else None,
        slope=None if fit is None else fit.slope,
        low=None if fit is None else fit.low,
        high=None if fit is None else fit.high,
        exponent=finding.exponent,
        holds=finding.holds,
        study=claim.study,
        why=finding.why,
    )


def _named(title: str, name: str) -> bool:
    """Return whether a claim names a title: 'lewa' names 'lewa' and 'lewa tuning=paper', 'only lewa' the first alone."""
    return not name or title == name.removeprefix("only ") or title.startswith(f"{name} ")
