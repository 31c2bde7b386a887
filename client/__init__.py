"""A client of Turnloom's API: post a message, wait for its turn, or follow its events.

It needs httpx2 and pydantic, and nothing of the server.
"""

from turnloom.client.api_errors import ApiError, ApiUnreachable
from turnloom.client.client import Client
from turnloom.client.turn_events import TurnEvent

__all__ = ["ApiError", "ApiUnreachable", "Client", "TurnEvent"]
