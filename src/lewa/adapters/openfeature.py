"""OpenFeature: a string flag is a decision of the service, and `track` is its feedback.

    from openfeature import api
    from lewa.adapters.openfeature import LewaProvider
    from lewa.client import Client

    api.set_provider(LewaProvider(Client("http://127.0.0.1:8000", key)))
    flags = api.get_client()
    user = EvaluationContext(targeting_key="user-7")
    model = flags.get_string_value("router", "small", user)
    flags.track("router", user, TrackingEventDetails(value=1.0, attributes={"cost": 0.2}))

The flag has the name of the agent. The targeting key is the key of the decision: the same user gets the same action for as
long as the service keeps keys. The value of a tracking event is the reward, and its numeric attributes are the other values.
The attribute `result` with the value "failed" reports that the action failed.
`LewaProvider(client, context=["tokens"])` sends only these attributes of the evaluation context as the context of the
decision, for agents that declare these columns.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import Any, NoReturn

from openfeature.evaluation_context import EvaluationContext
from openfeature.exception import TypeMismatchError
from openfeature.flag_evaluation import FlagResolutionDetails, Reason
from openfeature.provider import AbstractProvider
from openfeature.provider.metadata import Metadata
from openfeature.track import TrackingEventDetails

from lewa.client import Client, ServedDecision, Unavailable
from lewa.client.arguments import as_text
from lewa.validation import as_real, short_repr

REMEMBERED = 100_000  # decisions that a tracking event finds again by its targeting key


class LewaProvider(AbstractProvider):
    """Resolve string flags by a client of the decision service.

    Parameters
    ----------
    client
        A client of the service.
    context
        The attributes of an evaluation context to send; an agent rejects attributes that it does not declare.
    """

    def __init__(self, client: Client, context: Sequence[str] = ()) -> None:
        super().__init__()
        if isinstance(client, type) or not hasattr(client, "decide"):
            raise TypeError(f"client must be a lewa.client.Client, got {short_repr(client)}")
        if isinstance(context, str) or not isinstance(context, Sequence) or not all(isinstance(a, str) for a in context):
            raise ValueError(f"context must be a list of names of attributes, got {short_repr(context)}")
        self._client, self._sent, self._lock = client, frozenset(context), Lock()
        self._decisions: OrderedDict[tuple[str, str], ServedDecision] = OrderedDict()

    def get_metadata(self) -> Metadata:
        """Return the provider's name."""
        return Metadata("lewa")

    def resolve_string_details(
        self, flag_key: str, default_value: str, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[str]:
        """Make a decision; return the default, and do not report it, if there is neither an answer nor a fallback."""
        key, context = _key(evaluation_context), self._context(evaluation_context)
        try:
            decision = self._client.decide(flag_key, key=None if key is None else f"{flag_key}/{key}", context=context)
        except Unavailable as error:
            return FlagResolutionDetails(default_value, reason=Reason.ERROR, error_message=str(error))
        if key is not None:
            with self._lock:
                self._decisions[flag_key, key] = decision
                if len(self._decisions) > REMEMBERED:
                    self._decisions.popitem(last=False)
        served: dict[str, bool | int | float | str] = {"decision": decision.id or "", "by": decision.by}
        served["probability"] = decision.probability
        return FlagResolutionDetails(decision.action, variant=decision.action, reason=Reason.SPLIT, flag_metadata=served)

    async def resolve_string_details_async(
        self, flag_key: str, default_value: str, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[str]:
        """Make a decision in a thread, so that the event loop goes on."""
        return await asyncio.to_thread(self.resolve_string_details, flag_key, default_value, evaluation_context)

    def _context(self, context: EvaluationContext | None) -> dict[str, Any] | None:
        known = {} if context is None else context.attributes
        plain = {name: value for name, value in known.items() if isinstance(value, str | int | float | bool)}
        return {name: value for name, value in plain.items() if name in self._sent} or None

    def track(
        self,
        tracking_event_name: str,
        evaluation_context: EvaluationContext | None = None,
        tracking_event_details: TrackingEventDetails | None = None,
    ) -> None:
        """Report the reward and other values of the last decision for this flag and targeting key; ignore unknown ones."""
        key, details = _key(evaluation_context), tracking_event_details
        if details is not None and not isinstance(details, TrackingEventDetails):
            raise TypeError(f"tracking_event_details must be a TrackingEventDetails, got {short_repr(details)}")
        with self._lock:
            decision = (
                None if key is None else self._decisions.get((as_text("the name of an event", tracking_event_name), key))
            )
        if decision is None or details is None:
            return
        attributes = details.attributes.items()
        values = {field: as_real(field, value) for field, value in attributes if isinstance(value, int | float)}
        if details.value is not None:
            values["reward"] = as_real("the value of a tracking event", details.value)
        if details.attributes.get("result") == "failed":
            decision.fail(**values)
        else:
            decision.feedback(**values)

    def shutdown(self) -> None:
        """Send the remaining answers and close the client."""
        self._client.close()

    def _refuse(self, flag_key: str, *_: Any, **__: Any) -> NoReturn:
        """Refuse another kind of flag: an action is a string."""
        raise TypeMismatchError(f"the value of the flag {flag_key} must be a string, because it is the name of an action")

    resolve_boolean_details = resolve_integer_details = resolve_float_details = resolve_object_details = _refuse


def _key(context: EvaluationContext | None) -> str | None:
    if context is not None and not isinstance(context, EvaluationContext):
        raise TypeError(f"the context must be an EvaluationContext, got {short_repr(context)}")
    return None if context is None else context.targeting_key or None
