"""Take a conversation over from the agent, and write to its user."""

from typing import Any

import httpx2


def take_over(api: httpx2.Client, conversation: str, part: str = "pause") -> dict[str, Any]:
    """Pause or resume the agent in a conversation; return the conversation."""
    answer = api.post(f"/v1/conversations/{conversation}/{part}")
    assert answer.status_code == 200, answer.text
    shown: dict[str, Any] = answer.json()
    return shown


def say(api: httpx2.Client, conversation: str, message: str) -> str:
    """Write as a person of the team; return the turn."""
    body = {"message": message, "author": "Dana"}
    answer = api.post(f"/v1/conversations/{conversation}/messages", json=body)
    assert answer.status_code == 202, answer.text
    turn_id: str = answer.json()["turn_id"]
    return turn_id
