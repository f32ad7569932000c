"""LiteLLM: a router gets its model from the decision service, and reports the cost of the call to the service.

    import litellm
    from lewa.adapters.litellm import LewaRouting
    from lewa.client import Client

    router = litellm.Router(model_list=[
        {"model_name": "chat", "litellm_params": {"model": "gpt-4o-mini"}},
        {"model_name": "chat", "litellm_params": {"model": "gpt-4o"}},
    ])
    routing = LewaRouting(Client("http://127.0.0.1:8000", key), agent="router", router=router)
    response = await router.acompletion(model="chat", messages=[...])
    routing.feedback(response, reward=1.0)          # now, or when the quality of the answer is known

The actions of the agent are the deployments of the group. The name of an action is `model_info["lewa_action"]` if you set
it, else `litellm_params["model"]`; several deployments with the same name are interchangeable. Deployments that LiteLLM
considers unhealthy are not available to the decision. When a call succeeds, its `response_cost` is the feedback for `cost`;
when it fails, its decision is reported as failed, and a retry is a new decision. The decision of a cancelled call is closed,
although LiteLLM does not report cancellations. The order in which cost and reward arrive does not matter.
"""

import asyncio
import logging
import random
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from itertools import count
from threading import Lock
from typing import Any

from litellm.integrations.custom_logger import CustomLogger
from litellm.types.router import CustomRoutingStrategyBase

from lewa.client import Client, ServedDecision, Unavailable
from lewa.validation import as_real

log = logging.getLogger("lewa.adapters")
REMEMBERED = 100_000  # decisions whose call is not over, and responses that feedback finds again
NUMBERS = count()
PATIENCE = 0.5  # seconds after a call was cancelled in which its success may still be logged
MARK = "lewa_decision"  # the field of `model_info` by which a call finds its decision


class LewaRouting(CustomRoutingStrategyBase, CustomLogger):  # type: ignore[misc]  # they have no types
    """Choose deployments of a LiteLLM router by an agent of the decision service, and report the cost of calls.

    Parameters
    ----------
    client
        A client of the service. Give it a fallback, the name of an action, for when the service does not answer.
    agent
        The name of the agent, whose actions are the router's deployments.
    router
        The router; only its asynchronous calls (`acompletion`, ...) can be routed.
    cost
        The name of the constraint whose value is `response_cost`, in dollars; None reports no cost.
    reward
        Called with the response of a successful call; returns its reward. Without it, `feedback` reports rewards.
    """

    def __init__(
        self,
        client: Client,
        agent: str,
        router: Any,
        *,
        cost: str | None = "cost",
        reward: Callable[[Any], float] | None = None,
    ) -> None:
        import litellm

        super().__init__()
        self.number = next(NUMBERS)  # LiteLLM drops a logger whose public numbers and texts are those of another
        self._client, self._agent, self._router = client, agent, router
        self._cost, self._reward, self._lock = cost, reward, Lock()
        self._open: OrderedDict[str, ServedDecision] = OrderedDict()  # by the key of the decision
        self._answered: OrderedDict[str, ServedDecision] = OrderedDict()  # by the id of the response
        self._early: dict[str, list[dict[str, float]]] = {}  # feedback for streams whose end LiteLLM has not logged yet
        router.set_custom_routing_strategy(self)
        litellm.logging_callback_manager.add_litellm_callback(self)

    async def async_get_available_deployment(
        self,
        model: str,
        messages: object = None,
        input: object = None,  # noqa: A002  LiteLLM's name
        specific_deployment: bool | None = False,
        request_kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Return the deployment that the service chooses among the healthy deployments."""
        healthy = await self._router.async_get_healthy_deployments(
            model=model,
            request_kwargs=request_kwargs or {},
            messages=messages,
            input=input,
            specific_deployment=specific_deployment,
        )
        if isinstance(healthy, dict):  # the caller named one
            return healthy
        by_action: dict[str, list[dict[str, Any]]] = {}
        for each in healthy:
            by_action.setdefault(action_of(each), []).append(each)
        decision = await self._decide(sorted(by_action))
        if decision.action not in by_action:
            decision.close()
            raise Unavailable(f"the agent {self._agent} chose {decision.action}, which is not among {', '.join(by_action)}")
        deployment = random.choice(by_action[decision.action])
        self._remember(self._open, decision.key, decision)
        if (task := asyncio.current_task()) is not None:
            task.add_done_callback(partial(self._ended, decision.key))
        return {**deployment, "model_info": {**deployment.get("model_info", {}), MARK: decision.key}}

    async def _decide(self, available: list[str]) -> ServedDecision:
        """Return a decision of the service; close it if nobody waits for it any more."""
        request = asyncio.ensure_future(asyncio.to_thread(self._client.decide, self._agent, available=available))
        try:
            return await asyncio.shield(request)
        except asyncio.CancelledError:
            request.add_done_callback(_close_result)
            raise

    def _ended(self, key: str, task: asyncio.Task[Any]) -> None:
        """Close the decision of a call that was cancelled, unless it has succeeded all the same."""
        if task.cancelled():
            task.get_loop().call_later(PATIENCE, self._close, key)

    def _close(self, key: str) -> None:
        decision = self._take(key)
        if decision is not None:
            decision.close()

    def get_available_deployment(self, *_: Any, **__: Any) -> Any:
        """Raise an error: only asynchronous calls can wait for a decision."""
        raise ValueError("lewa routes asynchronous calls: use router.acompletion in place of router.completion")

    async def async_post_call_success_deployment_hook(self, request_data: Any, response: Any, call_type: object) -> None:
        """Remember the decision of a response before the call returns; LiteLLM logs its success later."""
        with self._lock:
            decision = self._open.get(_key_of(request_data))
        if decision is not None and isinstance(getattr(response, "id", None), str):
            self._remember(self._answered, response.id, decision)

    async def async_log_success_event(self, kwargs: Any, response_obj: Any, start_time: object, end_time: object) -> None:
        """Report the cost of a successful call."""
        name = getattr(response_obj, "id", None) or ""
        decision = self._take(_key_of(kwargs), name)
        if decision is None:
            return
        values: dict[str, float] = {}
        if self._cost is not None and kwargs.get("response_cost") is not None:
            values[self._cost] = float(kwargs["response_cost"])
        try:
            if self._reward is not None:
                values["reward"] = float(self._reward(response_obj))
        finally:  # the cost is reported even if your function fails
            if values:
                decision.feedback(**values)

    async def async_log_failure_event(self, kwargs: Any, response_obj: Any, start_time: object, end_time: object) -> None:
        """Report that a call failed."""
        decision = self._take(_key_of(kwargs))
        if decision is not None:
            decision.fail()

    def feedback(self, response: Any, **values: float) -> None:
        """Report values of a response, for instance its reward, at any time after its call returned.

        A response is given as an object or by its id. Give a chunk of a stream, or its id, for a stream.
        """
        name = response if isinstance(response, str) else getattr(response, "id", None)
        with self._lock:
            decision = self._answered.get(str(name))
            if decision is None and self._open and isinstance(name, str):  # of a stream, whose end will be logged
                self._early.setdefault(name, []).append({field: as_real(field, value) for field, value in values.items()})
                return
        if decision is None:
            raise ValueError("feedback needs a response that was routed here, or its id; a stream has the id of its chunks")
        decision.feedback(**values)

    def _remember(self, where: OrderedDict[str, ServedDecision], name: str, decision: ServedDecision) -> None:
        with self._lock:
            where[name] = decision
            if len(where) > REMEMBERED:
                where.popitem(last=False)

    def _take(self, key: str, name: str = "") -> ServedDecision | None:
        """Return the decision of a call that has ended, the first time that it is asked for; report its early feedback."""
        with self._lock:
            decision = self._open.pop(key, None)
            early = self._early.pop(name, []) if decision is not None and name else []
            lost, self._early = (self._early, {}) if not self._open else ({}, self._early)
        if decision is not None and name:
            self._remember(self._answered, name, decision)
            for values in early:
                decision.feedback(**values)
        for other in lost:
            log.warning("feedback for %s is dropped: no such response was routed here", other)
        return decision


def _key_of(data: Any) -> str:
    """Return the key of the decision of a call, from what LiteLLM passes to its loggers."""
    params = data.get("litellm_params") or data
    info = params.get("model_info") or (params.get("metadata") or {}).get("model_info") or {}
    return str(info.get(MARK, ""))


def _close_result(request: asyncio.Future[ServedDecision]) -> None:
    if not request.cancelled() and request.exception() is None:
        request.result().close()


def action_of(deployment: dict[str, Any]) -> str:
    """Return the name of a deployment's action: the user's name, else its model."""
    info = deployment.get("model_info") or {}
    name = info.get("lewa_action") or deployment["litellm_params"]["model"]
    return str(name)
