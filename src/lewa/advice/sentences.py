"""The sentences of an advice."""

from lewa.advice.weighing import Choice, Question
from lewa.theory.guarantees import EXPECTED, EXPECTED_INSIDE


def because(question: Question, ranked: tuple[Choice, ...], second: Choice | None) -> str:
    """Return the reason for the recommendation, and the runner-up."""
    best, count = ranked[0], len({choice.name for choice in ranked})
    first = f"{best.called} ranks first among {count} learners with a theorem"
    first = f"{best.called} is the only learner with a theorem" if count == 1 else first
    bound = f"the larger of regret/T and violation/T is at most {_bound_of(best, question)}"
    rest = "No other learner has a theorem for this case"
    if second is not None:
        rest = f"The bound of the runner-up, {second.called}, is {_bound_of(second, question)}{_why_second(best, second)}"
    return f"For {_world(question)}, {first}: {bound}. {rest}."


def nothing(question: Question, practice: Choice) -> str:
    """Return the sentences for a setting without a guarantee."""
    return (
        f"No learner has a guarantee for {_world(question)}. Use {practice.called}, which did best on real data "
        "(docs/data.md), and monitor its violation."
    )


def proved(practice: Choice, question: Question) -> str:
    """Return the clause about the guarantee of the learner that did best in practice."""
    if practice.share is not None:
        return f"its regret/T and violation/T are proved to be below {_percent(practice.share)} here"
    if question.violation(practice.guarantee) is None:
        return "no bound is proved for it here"
    return "no bound is proved for its regret here"


def _world(question: Question) -> str:
    setting = question.setting
    feedback = "full information" if question.feedback == "full" else "bandit feedback"
    corrupted = f" with a total corruption of {setting.corruption:g}" if setting.corruption else ""
    means = f"{setting.constraints} constraints{corrupted}"
    sure = "on average" if setting.epsilon is None else f"with probability {1 - setting.epsilon:g}"
    counted = ("no " if question.strict else "") + ("violation in every round" if question.every_round else "net violation")
    known = "" if question.safe is None else f"action {question.safe} known to be safe, "
    length = (
        f"{question.rounds:,} rounds"
        if question.horizon
        else f"an unknown number of rounds, compared at {question.rounds:,}"
    )
    return f"{feedback}, {means}, {known}{counted}, {sure}, over {length}"


def _bound_of(choice: Choice, question: Question) -> str:
    shares = question.shares(choice.guarantee)
    largest = max(shares)
    sure = "" if choice.single else ", on average over runs only"
    if choice.single and choice.guarantee.kind == EXPECTED_INSIDE:  # from a bound with probability
        sure = ", in a single run too with high probability"
    if shares[0] == largest:
        return f"{_percent(largest)}, its regret{sure}"
    trivial = largest >= float(question.floor[shares.index(largest) - 1])
    return f"{_percent(largest)}, its violation{', with only the trivial bound known' if trivial else sure}"


def _why_second(best: Choice, second: Choice) -> str:
    """Return the clause about a smaller bound that does not rank first."""
    if (second.share or 0.0) >= (best.share or 0.0):
        return ""
    if second.guarantee.kind == EXPECTED:
        return "; a bound on [E V]+ ranks after all others, because it says nothing about a single run"
    return "; a bound on an average counts twice, because an application has one run"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
