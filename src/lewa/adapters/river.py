"""A lewa agent as a bandit policy of river."""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from lewa.agent import Agent, Constraint, Decision, at_least
from lewa.context import Column
from lewa.feedback import feedback_kind
from lewa.learners import find
from lewa.units import as_number
from lewa.version import install

try:
    from river import bandit
except ImportError:
    raise ImportError(f"lewa.adapters.river needs river: {install('river')}") from None

FREE = at_least("no constraint", 0)  # what every value keeps


class Policy(bandit.base.Policy):  # type: ignore[misc]  # river is not typed
    """An `Agent` behind river's verbs: `pull` an arm, `update` it with its reward and with what each line is about.

    `constraints` are lines, by `lewa.at_most` and `lewa.at_least`; the rest is as for `lewa.Agent`. `arms` are all that
    there will ever be, those of the first `pull` if None; each `pull` names those that are there now. With `context`,
    columns by `lewa.number` and its like, each `pull(arms, context)` takes a dictionary, as river's rows are; `regressor`, a
    river regressor, then predicts rewards and costs.

    `update(arm, reward, cost=0.3)` tells the value of the line "cost". Where a loop passes on the reward only, as
    `river.bandit.evaluate` does, the value comes from `known`, numbers per line and arm that are known in advance, in the
    order of `arms`; or with the reward, if the environment is wrapped in `lewa.adapters.gym.Telling`. A value that comes
    from nowhere is refused: it does not count as zero.

    Without constraints the learner has a floor of 0, which nothing can miss: its multiplier stays at 0, and it looks at the
    reward alone.

    An update answers the latest pull of its arm that is open, weighted by the probability which that pull had. Where answers
    come late and several pulls of an arm are open, name the one that is answered: `update(arm, reward, decision=n)`, n the
    `policy.decision.id` after its pull. A pull that is never answered is left out; so `river.bandit.evaluate_offline`, which
    passes over the rows where another arm was logged, can be used if the log drew its arms uniformly, as it asks for.

    The averages, the multipliers and what is proved are in `policy.agent.status()`; where arms were missing, or answers came
    late, it says that nothing is proved, and why. There is no `burn_in`: it pulls arms without a probability.

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
        seed: int = 0,
        settings: Mapping[str, float] | None = None,
        known: Mapping[str, Sequence[float]] | None = None,
        context: Column | Sequence[Column] | None = None,
        reward_obj: Any = None,
        regressor: Any = None,
    ) -> None:
        super().__init__(reward_obj=reward_obj)
        if isinstance(learner, str) and learner != "auto" and feedback_kind(find(learner)) == "full":
            raise ValueError(f"river reports only the arm that was pulled, but {learner} needs every arm")
        self.constraints, self.arms, self.reward_range, self.horizon = constraints or None, arms, reward_range, horizon
        self.learner, self.seed, self.settings, self.known = learner, seed, settings, known
        self.context, self.regressor = context, regressor
        self.decision: Decision | None = None  # the latest
        self._agent: Agent | None = None
        self._open: dict[str | int, deque[int]] = {}
        if arms is not None:
            self._begin(arms)

    @property
    def agent(self) -> Agent:
        """Return the agent; there is one as soon as the arms are known."""
        if self._agent is None:
            raise ValueError("the arms are not known before the first pull; give them by arms=...")
        return self._agent

    def _begin(self, arms: Sequence[str | int]) -> Agent:
        self._agent = agent = Agent(
            list(arms),
            self.constraints or [FREE],
            self.reward_range,
            self.horizon,
            self.learner,
            self.seed,
            settings=self.settings,
            expected=self.known,
            context=self.context,
            regressor=self.regressor,
            unanswered="expire",
        )
        self._open = {arm: deque(maxlen=agent.setup.max_pending) for arm in agent.setup.actions}
        self._all = arms
        return agent

    def pull(self, arm_ids: Sequence[str | int], context: Mapping[str, object] | None = None) -> str | int:
        """Draw an arm from the play, over the arms that are there, by the context if columns of one are declared."""
        return self._pull(arm_ids, context)

    def _pull(self, arm_ids: Sequence[str | int], context: Mapping[str, object] | None = None) -> str | int:
        agent = self._agent or self._begin(arm_ids)
        self.decision = agent.pull(None if arm_ids == self._all else arm_ids, context=context)
        self._open[self.decision.action].append(self.decision.id)
        return self.decision.action

    def update(self, arm_id: str | int, reward: object, *, decision: int | None = None, **values: object) -> None:
        """Tell what a pull of this arm earned, and the value of every line that is neither known nor carried."""
        agent, amount = self.agent, as_number("reward", reward)
        if arm_id not in self._open:
            raise ValueError(f"there is no arm {arm_id!r}; there are {', '.join(map(repr, self._open))}")
        by_line: dict[str, Any] = {**getattr(reward, "quantities", {}), **values}
        for line in agent.setup.constraints:
            if line.name not in by_line:
                by_line[line.name] = self._value(line, arm_id)
        waiting = self._open[arm_id]
        if not waiting or (decision is not None and decision not in waiting):
            which = "no pull" if decision is None else f"no pull with the number {decision}"
            raise ValueError(f"{which} of {arm_id!r} is open: it was answered or never made; nothing was changed")
        number = waiting[-1] if decision is None else decision
        agent.update(number, reward=amount, **by_line)
        waiting.remove(number) if decision is not None else waiting.pop()
        super().update(arm_id, amount)

    def _value(self, line: Constraint, arm: str | int) -> float:
        """Return the value of a line that an update does not tell."""
        if self.constraints is None:
            return 1.0
        if line.name in (self.known or {}):
            return self.agent.setup.expected[line.name][self.agent.setup.actions.index(arm)]
        raise ValueError(
            f"the {line.name} of {arm!r} is missing: pass it by update(arm, reward, {line.name}=...), or by "
            f"known={{{line.name!r}: [...]}}"
        )
