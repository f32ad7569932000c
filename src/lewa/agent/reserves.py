"""The reserves of open decisions, if the application knows more about them than the agent."""

from collections.abc import Mapping

from lewa.agent.agent import Agent


def reserved_averages(agent: Agent, reserves: Mapping[int, Mapping[str, float]]) -> dict[str, float]:
    """Return `reserved` of the status of each constraint, with these values in open decisions that still await them."""
    state = agent._recorder.copy()
    averages = {}
    for f, name in enumerate(state.setup.fields[1:], 1):
        total = state.statistics.total[f] + state.charge_total[f] + state.reserved_total(f)
        count = state.statistics.count[f] + state.charge_count[f] + state.open.count(f)
        for number, values in reserves.items():
            pending = state.open.get(number)
            if pending is None or name not in values or f in pending.known():
                continue
            expected = state.unit_of_play(pending, state.expected_unit(pending, f))
            total += values[name] - state.setup.scales[f].to_user(expected)
        if count:
            averages[name] = float(total / count)
    return averages
