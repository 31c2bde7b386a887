"""Turns with recorded calls, and what the ledger has of them."""

from dataclasses import replace
from typing import Any
from uuid import UUID

from sqlalchemy import text

from tests.factories import claim_turn, open_turn
from turnloom.models.connections.database import snapshot, statement, transaction
from turnloom.models.contracts.recording import RecordedCall, Recording
from turnloom.models.contracts.turn import Reply
from turnloom.models.contracts.usage import LlmCall
from turnloom.models.ledger import conversations, recordings, turns
from turnloom.models.ledger.turns import ClaimedTurn, Ending
from turnloom.models.runtime.packed_text import pack

RULES = "You plan. " * 200
SCHEMA = '{"title": "plan"}'
MADE = LlmCall("plan", "gpt-4o", 100, 40, 10, 0.5, 12.5, "stop")


def made(*messages: str, answer: str | None = "{}", rules: str = RULES, **fields: Any) -> LlmCall:
    """Return a call with these messages, by turns of the user and the assistant."""
    roles = ("user", "assistant")
    recording = Recording(
        rules=pack("system", rules),
        messages=tuple(pack(roles[place % 2], message) for place, message in enumerate(messages)),
        schema=pack("schema", SCHEMA),
        answer=None if answer is None else pack("assistant", answer),
        parameters={"model": "gpt-4o", "temperature": 0.1, "form": "schema"},
        now="2026-11-25T21:30:00+02:00",
        error=None if answer is not None else "the language model did not answer in time",
    )
    return replace(MADE, recording=recording, **fields)


def claimed(tenant_id: UUID, message: str = "hello", **request: Any) -> ClaimedTurn:
    turn = claim_turn(open_turn(tenant_id, message, **request).turn_id)
    assert turn is not None
    return turn


def finish(turn: ClaimedTurn, *calls: LlmCall) -> None:
    with statement() as db:
        assert turns.finish(db, turn.id, turn.attempt, Ending("succeeded", Reply(text="done"), {}), calls) is not None


def finished(tenant_id: UUID, *calls: LlmCall, **request: Any) -> ClaimedTurn:
    turn = claimed(tenant_id, **request)
    finish(turn, *calls)
    return turn


def read(turn: ClaimedTurn) -> list[RecordedCall]:
    with snapshot() as db:
        return recordings.recorded_calls(db, turn.id)


def said(found: RecordedCall) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in found.messages]


def texts() -> list[tuple[str, str]]:
    """Return the conversation and the role of each stored text."""
    with transaction() as db:
        rows = db.execute(text("SELECT conversation_id, role FROM recorded_texts ORDER BY 1, 2"))
        return [(conversation_id, role) for conversation_id, role in rows]


def count(table: str) -> int:
    with transaction() as db:
        return int(db.scalar(text(f"SELECT count(*) FROM {table}")) or 0)


def erase(tenant_id: UUID, conversation_id: str) -> None:
    with transaction() as db:
        conversations.erase(db, tenant_id, conversation_id)


def prune(tenant_id: UUID, conversation_id: str, before: UUID) -> int:
    with transaction() as db:
        return recordings.prune(db, tenant_id, conversation_id, before)


def complete() -> bool:
    """Return whether each recorded call has all its texts, and no text is left that no call has."""
    with transaction() as db:
        used = text(
            "WITH used AS (SELECT r.tenant_id, t.conversation_id, d FROM recorded_calls r"
            "  JOIN turns t ON t.id = r.turn_id, unnest(r.messages || ARRAY[r.rules, r.schema, r.answer]) d"
            "  WHERE d IS NOT NULL)"
            " SELECT (SELECT count(*) FROM used u WHERE NOT EXISTS (SELECT FROM recorded_texts x"
            "   WHERE x.tenant_id = u.tenant_id AND x.digest = u.d AND x.conversation_id IN ('', u.conversation_id))),"
            " (SELECT count(*) FROM recorded_texts x WHERE NOT EXISTS (SELECT FROM used u"
            "   WHERE x.tenant_id = u.tenant_id AND x.digest = u.d AND x.conversation_id IN ('', u.conversation_id)))"
        )
        return tuple(db.execute(used).one()) == (0, 0)
