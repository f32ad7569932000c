"""Clients of the decision service; they take httpx2: pip install 'lewa[client]'."""

from lewa.client.client import AsyncClient, Client, Unavailable
from lewa.client.decision import ServedDecision

__all__ = ["AsyncClient", "Client", "ServedDecision", "Unavailable"]
