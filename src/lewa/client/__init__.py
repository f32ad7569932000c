"""Clients of the decision service; they need httpx2, which the extra `client` installs."""

from lewa.client.client import AsyncClient, Client, ServedDecision, Unavailable

__all__ = ["AsyncClient", "Client", "ServedDecision", "Unavailable"]
