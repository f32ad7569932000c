"""Sessions: no call without its reserve, what they hold is given back, and open ones count at what they still cost."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lewa.budgets import pace
from lewa.budgets.budget import budget
from lewa.budgets.pace import CHARGED, RESERVED, SPENT
from lewa.budgets.purses import Hold, Purses
from lewa.budgets.sessions import Residuals, Session, add, ask, close

START = 1_790_000_000.0


def opened(purses: Purses, foreseen: float, reserve: float, time: float = START) -> Session | None:
    look = purses.look("a", time)
    return Session("large", purses.take(look, foreseen, reserve)) if look.refusing(foreseen, reserve) is None else None


@given(st.integers(0, 10_000), st.sampled_from([1.0, 0.9]))
def test_the_calls_of_all_sessions_never_pass_the_ceiling(seed: int, sure: float) -> None:
    """Each call costs all that it may, sessions outlive their periods, and everything goes through JSON."""
    dice = np.random.default_rng(seed)
    budgets = [budget("cost", 20, "hour", never_more_than=21), budget("cost", 9, "hour", purse="a", never_more_than=9)]
    if sure == 1:
        budgets.append(budget("cost", 5, "hour", purse="b", at_least=0.2, never_more_than=9))
    purses, residuals, sessions, bills, time = Purses(budgets), Residuals(), list[Session](), dict[float, float](), START
    for _ in range(150):
        time += dice.exponential(200)
        session = opened(purses, 1.0, 0.5, time) if dice.random() < 0.4 else None
        sessions += [session] if session else []
        if sessions and (call := sessions[dice.integers(len(sessions))]) and ask(purses, call, worst := dice.uniform(0, 1)):
            add(purses, residuals, call, worst, 1.0)
            bills[call.hold.starts["a"]] = bills.get(call.hold.starts["a"], 0.0) + worst
        if sessions and dice.random() < 0.1:
            close(purses, residuals, sessions.pop(dice.integers(len(sessions))))
        if dice.random() < 0.05:
            purses = Purses.from_plain(json.loads(json.dumps(purses.to_plain())))
            sessions = [Session.from_plain(json.loads(json.dumps(session.to_plain()))) for session in sessions]
    assert max(bills.values(), default=0.0) <= 9 + 1e-9
    for session in sessions:
        close(purses, residuals, session)
    for purse in purses.nodes.values():
        assert not purse.past
        assert (purse.numbers[RESERVED], purse.numbers[CHARGED]) == (0, 0)


def test_what_a_session_holds_beyond_its_calls_is_given_back() -> None:
    purses, residuals = Purses([budget("cost", 9, purse="a", never_more_than=9)]), Residuals()
    session = opened(purses, 1.0, 0.5)
    assert session is not None
    q = purses.nodes["a"].numbers
    assert ask(purses, session, 0.5)
    assert q[RESERVED] == 0.5
    add(purses, residuals, session, 0.3, 1.0)
    assert (q[SPENT], q[CHARGED]) == (0.3, 0.7)
    assert ask(purses, session, 0.5)
    assert q[RESERVED] == pytest.approx(4)  # eight calls at once
    assert not ask(purses, session, 9)
    assert close(purses, residuals, session) == 0.3
    assert (q[SPENT], q[RESERVED], q[CHARGED], q[pace.OPEN]) == (0.3, 0, 0, 0)


def test_long_sessions_are_expected_to_go_on() -> None:
    """Half of the sessions end after a call, the others after 20."""
    residuals = Residuals()
    for n in range(40):
        costs = np.arange(1, 21 if n % 2 else 2, dtype=float)
        residuals.learn("large", [0.0, *(costs[2**j - 2] for j in range(1, 6) if 2**j - 1 <= costs.size)], costs[-1])
    rests = [
        residuals.rest(Session("large", Hold({}, 10.5, 1, billed=float(c)), marks=[0.0] * m), 10.5)
        for c, m in [(0, 1), (1, 2), (3, 3)]
    ]
    assert rests == pytest.approx([10.5, 9.5, 17])
    assert residuals.rest(Session("new", Hold({}, 4, 1, billed=3)), 4) == 1
