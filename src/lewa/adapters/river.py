"""Use a lewa agent as a bandit policy of river."""

from collections import deque
from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

from lewa.agent import Agent, Answers, Constraint, ContextOptions, Decision, LearnerOptions, at_least
from lewa.context import Column
from lewa.feedback import feedback_kind
from lewa.learners import find
from lewa.units import as_number
from lewa.validation import is_list, short_repr
from lewa.version import install

try:
    from river import bandit
except ImportError:
    raise ImportError(f"lewa.adapters.river needs river: {install('river')}") from None

FREE = at_least("no constraint", 0)  # what every value keeps


class Policy(bandit.base.Policy):  # type: ignore[misc]  # river is not typed
    """An `Agent` with river's interface: `pull` an arm, `update` it with its reward and its constraint values.

    `update(arm, reward, cost=0.3)` reports the value of the constraint "cost". If a loop passes on only the reward, as
    `river.bandit.evaluate` does, the value comes from `known`, or from the reward if the environment is wrapped in
    `lewa.adapters.gym.Telling`. A missing value raises ValueError; it does not count as zero.

    Without constraints the learner has a floor of 0, which every play meets: its multiplier stays at 0, and only the reward
    matters.

    An update answers the latest open pull of its arm, weighted by the probability of that pull. If answers come late and
    several pulls of an arm are open, name the pull: `update(arm, reward, decision=n)`, where n is `policy.decision.id` after
    its pull. A pull without an answer is left out, so `river.bandit.evaluate_offline`, which skips the rows in which another
    arm was logged, can be used if the log drew its arms uniformly, as it requires.

    `policy.agent.status()` has the averages, the multipliers and the guarantee; if arms were missing or answers came late,
    it states why there is no guarantee. There is no `burn_in`, which would pull arms without a probability.

    Parameters
    ----------
    constraints
        The constraints, from `lewa.at_most` and `lewa.at_least`.
    arms
        All arms; None for those that pulls name. Each `pull` names the available arms. Without `arms`, an arm that a later
        `pull` names for the first time is added, and starts with a share of the pulls as in `Agent.add_action`.
    reward_range, horizon, learner, seed, settings
        As for `lewa.Agent`.
    known
        Constraint values that are known in advance, by constraint and arm, in the order of `arms`.
    context
        Columns, from `lewa.number` and the like; each `pull(arms, context)` then takes a dictionary.
    reward_obj
        The statistic of the reward that river uses to compare arms.
    regressor
        A river regressor that predicts rewards and costs from the context.

    >>> import lewa
    >>> policy = Policy([lewa.at_most("cost", 0.4)], seed=7)
    >>> arm = policy.pull(["small", "large"])
    >>> policy.update(arm, 1, cost=0.25)
    >>> arm, policy.agent.status().constraints[0].average
    ('small', 0.25)
    """

    def __init__(
        self,
        constraints: Sequence[Constraint] | None = None,
        arms: Sequence[str | int] | None = None,
        reward_range: tuple[float, float] = (0, 1),
        horizon: int | None = None,
        learner: str = "auto",
        seed: int | None = None,
        settings: Mapping[str, float] | None = None,
        known: Mapping[str, Sequence[float]] | None = None,
        context: Column | Sequence[Column] | None = None,
        reward_obj: Any = None,
        regressor: Any = None,
    ) -> None:
        if reward_obj is not None and (isinstance(reward_obj, type) or not hasattr(reward_obj, "clone")):
            raise ValueError(f"reward_obj must be a statistic or a metric of river, got {short_repr(reward_obj)}")
        super().__init__(reward_obj=reward_obj)
        if isinstance(learner, str) and learner != "auto" and feedback_kind(find(learner)) == "full":
            raise ValueError(f"{learner} needs the outcome of every arm, but river reports only the arm that was pulled")
        free = isinstance(constraints, Sequence) and not constraints
        self.constraints, self.arms = None if free else constraints, arms
        self.reward_range, self.horizon = reward_range, horizon
        self.learner, self.seed, self.settings, self.known = learner, seed, settings, known
        self.context, self.regressor = context, regressor
        self.decision: Decision | None = None  # the latest
        self._agent: Agent | None = None
        self._open: dict[str | int, deque[int]] = {}
        if arms is not None:
            self._begin(arms)

    @property
    def agent(self) -> Agent:
        """Return the agent, which exists as soon as the arms are known."""
        if self._agent is None:
            raise ValueError("the arms are unknown before the first pull; pass arms=...")
        return self._agent

    def _begin(self, arms: Sequence[str | int]) -> Agent:
        self._agent = agent = Agent(
            _as_arms(arms),
            [FREE] if self.constraints is None else self.constraints,
            self.reward_range,
            self.horizon,
            LearnerOptions(self.learner, settings=self.settings),
            self.seed,
            answers=Answers(unanswered="expire", expected=self.known),
            context=ContextOptions(self.context, regressor=self.regressor),
        )
        self._open = {arm: deque(maxlen=agent.setup.max_open) for arm in agent.setup.actions}
        self._all = self._known_arms = _as_arms(arms)
        return agent

    def pull(self, arm_ids: Sequence[str | int], context: Mapping[str, object] | None = None) -> str | int:
        """Draw an arm from the play over the available arms, by the context if context columns are declared."""
        agent = self._agent or self._begin(arm_ids)
        arms = _as_arms(arm_ids)
        for arm in arms if self.arms is None else ():
            if arm not in self._open:
                agent.add_action(arm, why="a pull named it for the first time")
                self._open[arm] = deque(maxlen=agent.setup.max_open)
                self._all = [*self._all, arm]
        self.decision = agent.pull(None if arms == self._all else arms, context=context)
        self._open[self.decision.action].append(self.decision.id)
        return self.decision.action

    _pull = pull  # river's name for it

    def update(self, arm_id: str | int, reward: object, *, decision: int | None = None, **values: object) -> None:
        """Report the reward of a pull, and its constraint values.

        Parameters
        ----------
        arm_id, reward
            The arm, and its reward.
        decision
            The id of the pull; None for the latest open pull of the arm.
        **values
            The value of every constraint that is not in `known` and not attached to the reward.
        """
        agent, amount = self.agent, as_number("reward", reward)
        if not isinstance(arm_id, str | Integral) or arm_id not in self._open:
            raise ValueError(f"the arm must be one of {', '.join(map(repr, self._open))}, got {short_repr(arm_id)}")
        by_line: dict[str, Any] = {**getattr(reward, "quantities", {}), **values}
        for line in agent.setup.constraints:
            if line.name not in by_line:
                by_line[line.name] = self._value(line, arm_id)
        waiting = self._open[arm_id]
        if not waiting or (decision is not None and (not isinstance(decision, Integral) or decision not in waiting)):
            which = "no pull" if decision is None else f"no pull with the number {short_repr(decision)}"
            raise ValueError(f"{which} of {arm_id!r} is open: it was answered or never made, so nothing was changed")
        number = waiting[-1] if decision is None else decision
        agent.update(number, reward=amount, **by_line)
        waiting.remove(number) if decision is not None else waiting.pop()
        super().update(arm_id, amount)

    def _value(self, line: Constraint, arm: str | int) -> float:
        """Return the value of a line that an update does not tell."""
        if self.constraints is None:
            return 1.0
        if line.name in (self.known or {}) and self._all.index(arm) < len(self._known_arms):
            return self.agent.setup.expected[line.name][self.agent.setup.actions.index(arm)]
        raise ValueError(
            f"the {line.name} of {arm!r} is missing: pass update(arm, reward, {line.name}=...) or "
            f"known={{{line.name!r}: [...]}}"
        )


def _as_arms(arms: object) -> list[str | int]:
    named = is_list(arms) and not isinstance(arms, Mapping)
    each = list(arms) if named else []  # type: ignore[call-overload]
    if not named or not all(isinstance(arm, str | Integral) for arm in each):
        raise ValueError(f"arms must be a list of names or whole numbers, got {short_repr(arms)}")
    return each
