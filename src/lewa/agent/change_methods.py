"""The methods that change an agent while it runs. Each returns the record of the change; changes.py applies it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from lewa.agent.breaker import Breaker, as_breaker
from lewa.agent.governor.rule import Governor, as_governor
from lewa.agent.records import Change, Label
from lewa.agent.setup import Setup, field_index, refuse_outside
from lewa.units import as_number


class ChangeMethods:
    """The part of `Agent` that changes limits, ranges, debts, actions and the mode."""

    if TYPE_CHECKING:

        @property
        def setup(self) -> Setup:
            """Its current set-up, which an agent has."""

    def _make(self, what: str, name: Label | None, value: object, who: str, why: str) -> Change:
        """Apply a change and return its record."""
        raise NotImplementedError("an agent has it")

    def set_limit(self, name: str, limit: float, *, who: str = "", why: str = "") -> Change:
        """Change the limit of a constraint from now on; its debt does not change.

        Parameters
        ----------
        name : str
            The name of the constraint.
        limit : float
            The new limit, in your units.
        who, why : str
            Who makes the change, and why: they are part of the record.
        """
        return self._make("limit", name, limit, who, why)

    def set_range(self, name: str, ends: tuple[float, float], *, who: str = "", why: str = "") -> Change:
        """Change the range of the values of a constraint; the learner continues in the new units.

        Parameters
        ----------
        name : str
            The name of the constraint.
        ends : tuple of float
            The least and the largest value, in your units.
        who, why : str
            Who makes the change, and why: they are part of the record.
        """
        return self._make("range", name, ends, who, why)

    def set_carry_over(self, name: str, carry_over: str | float, *, who: str = "", why: str = "") -> Change:
        """Change how much of what was saved may be spent later; credit above that is written off at once.

        Parameters
        ----------
        name : str
            The name of the constraint.
        carry_over : "all", "none" or float
            All of it, nothing, or at most this amount, in your units.
        who, why : str
            Who makes the change, and why: they are part of the record.
        """
        return self._make("carry_over", name, carry_over, who, why)

    def set_refunds(self, name: str, refunds: bool, *, who: str = "", why: str = "") -> Change:
        """Change whether values below the range of a limit with `at_most` are legal, and count in full."""
        return self._make("refunds", name, refunds, who, why)

    def forgive(self, name: str, *, who: str = "", why: str = "") -> Change:
        """Forgive the debt of a constraint, or its credit: both begin anew at 0.

        The average and the verdict do not change, as they count all values. Open decisions count when their answers come.

        Parameters
        ----------
        name : str
            The name of the constraint.
        who, why : str
            Who makes the change, and why: they are part of the record.
        """
        return self._make("forgive", name, None, who, why)

    def add_action(
        self,
        action: Label,
        *,
        like: Label | None = None,
        expected: Mapping[str, float] | None = None,
        share: float | None = None,
        who: str = "",
        why: str = "",
    ) -> Change:
        """Add an action, which starts with a share of the decisions; from then on the learner decides.

        A learner with weights gives it the weight of that share. For any other learner the share is limited: until the first
        answer the new action has its share, and after n answers at most 1 + n times its share.

        Parameters
        ----------
        action : str or int
            Its label. The label of a retired action cannot be used again.
        like : label, optional
            A similar action: the new action starts with the learner's knowledge of that action.
        expected : mapping, optional
            Its expected values by name, in your units, for learners that start from them, and to fill in answers.
        share : float, optional
            The initial share of the decisions, in (0, 1); by default 0.05, or an even share if that is less.
            It is not a minimum: `set_share` sets a minimum.
        who, why : str
            Who makes the change, and why: they are part of the record.
        """
        for name, value in expected.items() if isinstance(expected, Mapping) else ():  # not in a replay of earlier records
            scale = self.setup.scales[field_index(self.setup, name)]
            refuse_outside(name, action, as_number(f"the expected {name}", value), scale)
        options = {"like": like, "expected": dict(expected) if isinstance(expected, Mapping) else expected, "share": share}
        return self._make("add", action, {k: v for k, v in options.items() if v is not None}, who, why)

    def retire_action(self, action: Label, *, who: str = "", why: str = "") -> Change:
        """Retire an action: it is no longer drawn, but answers to its open decisions still count."""
        return self._make("retire", action, None, who, why)

    def set_mode(self, mode: str, *, who: str = "", why: str = "") -> Change:
        """Set the mode: "live", "shadow" (play the fallback, learn), "frozen" (play, do not learn) or "off" (neither).

        If `available` leaves out the fallback, the action is drawn from the learner's play.
        """
        return self._make("mode", None, mode, who, why)

    def set_exposure(self, share: float, *, who: str = "", why: str = "") -> Change:
        """Set the share of the decisions that the learner draws; the others take the fallback action."""
        return self._make("exposure", None, share, who, why)

    def set_share(self, action: Label, share: float, *, who: str = "", why: str = "") -> Change:
        """Give an action a minimum share of the decisions; 0 removes it.

        It is a share of the learner's decisions: at an exposure of 0.1, a share of 0.2 is at least 0.02 of all decisions.

        Parameters
        ----------
        action : str or int
            The label of the action.
        share : float
            The share, at least 0 and less than 1; the shares of all actions must sum to less than 1.
        who, why : str
            Who makes the change, and why: they are part of the record.
        """
        return self._make("share", action, share, who, why)

    def set_fallback(self, action: Label, *, who: str = "", why: str = "") -> Change:
        """Set the action that is taken if the learner does not decide."""
        return self._make("fallback", action, None, who, why)

    def set_governor(self, governor: Governor | str | None, *, who: str = "", why: str = "") -> Change:
        """Set the governor from now on: a `Governor`, "learned", or "off" or None for no governor.

        It counts the debts so far and the open decisions.
        """
        chosen = None if governor is None else as_governor(governor, None)
        return self._make("governor", None, chosen and chosen.plain(), who, why)

    def set_breaker(self, breaker: Breaker | None, *, who: str = "", why: str = "") -> Change:
        """Set the breaker from now on, or None for none; actions that rest are available again."""
        chosen = as_breaker(breaker)
        return self._make("breaker", None, chosen and chosen.plain(), who, why)
