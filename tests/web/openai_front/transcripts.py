"""Post transcripts, and answer their turns as workers would."""

import json
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from flask.testing import FlaskClient

from tests.factories import claim_turn, finish_turn
from turnloom.models.connections.redis import announce
from turnloom.models.ledger.turns import ClaimedTurn


@dataclass(frozen=True)
class Answered:
    """A turn as its client and its planner saw it."""

    turn: ClaimedTurn
    conversation_id: str
    text: str


def said(*texts: str) -> list[dict[str, Any]]:
    """Return messages of the user and the assistant, in turns."""
    return [{"role": ("user", "assistant")[place % 2], "content": text} for place, text in enumerate(texts)]


def post(client: FlaskClient, messages: list[dict[str, Any]], headers: Any = None, **more: Any) -> Any:
    """Post a transcript as a stream, which is answered before the turn has ended."""
    body = {"model": "travel", "messages": messages, "stream": True, **more}
    return client.post("/v1/chat/completions", json=body, headers=headers or {})


def ask(client: FlaskClient, messages: list[dict[str, Any]], reply: str = "Hello!", **more: Any) -> Answered:
    """Post a transcript, and let its turn end with this reply."""
    with post(client, messages, **more) as answer:
        assert answer.status_code == 200, answer.text
        turn = claim_turn(UUID(answer.headers["X-Turnloom-Turn-Id"]))
        assert turn is not None
        finished = finish_turn(turn, text=reply)
        assert finished is not None
        announce(turn.id, finished.events)
        conversation_id = answer.headers["X-Turnloom-Conversation-Id"]
        return Answered(turn, conversation_id, content(answer.text))


def chunks(stream: str) -> list[dict[str, Any]]:
    """Return the chunks of a whole stream."""
    lines = [line.removeprefix("data: ") for line in stream.split("\n\n") if line.startswith("data: ")]
    assert lines[-1] == "[DONE]"
    return [json.loads(line) for line in lines[:-1]]


def content(stream: str) -> str:
    """Return the text that a client puts together from a stream."""
    deltas = [choice["delta"] for chunk in chunks(stream) for choice in chunk["choices"]]
    return "".join(delta.get("content", "") for delta in deltas)
