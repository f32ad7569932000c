"""A client answers what does not belong there with one sentence, before anything is sent."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from lewa.client import AsyncClient, Client

WRONG: list[Any] = [None, "two\nlines", [[1, 2], [3]], {1: 2}, object(), b"x", 10**400, float("nan"), np.zeros((2, 2))]
NOWHERE: dict[str, Any] = {"url": "http://127.0.0.1:1", "key": "k", "timeout": 1e-9, "fallback": "a"}


def refused(function: Callable[..., object], right: dict[str, Any], fine: dict[str, list[int]]) -> None:
    """Check that each argument is refused if it is wrong, but for the values that are fine, by their place in WRONG."""
    for name in right:
        for place, wrong in enumerate(WRONG):
            if place not in fine.get(name, []):
                with pytest.raises(ValueError, match=r"^[^\n]+$"):
                    function(**{**right, name: wrong})


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_a_client_is_made_of_the_right_kinds(kind: Callable[..., object]) -> None:
    refused(kind, {**NOWHERE, "queue": 10, "spill": None}, {"fallback": [0, 1], "queue": [6], "spill": [0]})


def test_a_request_is_made_of_the_right_kinds() -> None:
    client = Client(**NOWHERE)
    right = {"agent": "r", "key": "k", "available": ["a"], "reserve": {"c": 1.0}, "context": {"x": 1}, "advice": {"p": "a"}}
    fine = {"agent": [1], "key": [0, 1], "available": [0], "reserve": [0], "context": [0], "advice": [0]}
    refused(client.decide, right, fine)
    with pytest.raises(ValueError, match="a request must consist of texts and finite numbers"):
        client.decide("r", context={"x": np.float32(1)})
    with pytest.raises(ValueError, match="agent must be valid Unicode"):
        client.decide("\ud800")
    refused(lambda decision, **values: client.feedback(decision, **values), {"decision": "r:1", "reward": 1.0}, {})
    refused(client.flush, {"seconds": 0.0}, {})
    refused(client.close, {"seconds": 0.0}, {})
    assert client.decide("r").by == "client"
    assert client.close(0) == 0


def test_an_asynchronous_request_too() -> None:
    async def calls() -> None:
        client: Any = AsyncClient(**NOWHERE)
        for call in (partial(client.decide, 3), partial(client.decide, "r", context=3), partial(client.flush, None)):
            with pytest.raises(ValueError, match=r"^[^\n]+$"):
                await call()
        await client.close(0)

    asyncio.run(calls())
