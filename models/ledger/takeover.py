"""A takeover is recorded here: a conversation is paused and resumed, and a person writes in place of its agent."""

import hashlib
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

import orjson
import psycopg
from psycopg.types.json import Jsonb

from turnloom.models.contracts.takeover import PersonMessage
from turnloom.models.errors import Conflict, NotFound
from turnloom.models.ledger.cancellation import ClosedTurn, read_closed
from turnloom.models.ledger.recovery import LEASE_MS
from turnloom.models.ledger.transitions import call
from turnloom.models.runtime.ids import new_id
from turnloom.models.runtime.operators import Operator


@dataclass(frozen=True, slots=True)
class PausedConversation:
    """A conversation in which a person writes."""

    is_new: bool
    """False: it was paused before."""
    closed: list[ClosedTurn]
    """The turns whose work this has ended. The caller has them answered."""


@dataclass(frozen=True, slots=True)
class RecordedMessage:
    """A message of a person, as it was recorded."""

    outcome: Literal["written", "repeated"]
    """`repeated`: its id came before with the same message."""
    turn_id: UUID
    seq: int
    deliver: bool
    """Whether it is to be sent on a channel. The caller dispatches that."""


def pause(db: psycopg.Connection, tenant_id: UUID, conversation_id: str, by: Operator) -> PausedConversation:
    """Pause a conversation: what is said in it is recorded and not answered, until it is resumed.

    Raises:
        NotFound: the tenant has no such conversation.
        Conflict: it was erased.
    """
    found = call(
        db,
        "pause_conversation",
        tenant=tenant_id,
        conversation=conversation_id,
        key=by.key_id,
        by=by.name,
        lease_ms=LEASE_MS,
    )
    if found is None:
        raise NotFound(f"there is no conversation {conversation_id!r}")
    _refuse_erased(found["outcome"], conversation_id)
    closed = [closed for each in found["closed"] if (closed := read_closed(each))]
    return PausedConversation(found["outcome"] == "paused", closed)


def resume(db: psycopg.Connection, tenant_id: UUID, conversation_id: str, by: Operator) -> bool:
    """Let the agent answer again, from the next message on. False: the conversation was not paused.

    Raises:
        NotFound: the tenant has no such conversation.
    """
    was_paused: bool | None = call(
        db, "resume_conversation", tenant=tenant_id, conversation=conversation_id, key=by.key_id, by=by.name
    )
    if was_paused is None:
        raise NotFound(f"there is no conversation {conversation_id!r}")
    return was_paused


def write(
    db: psycopg.Connection, tenant_id: UUID, conversation_id: str, message: PersonMessage, by: Operator
) -> RecordedMessage:
    """Record what a person writes, and put it into the outbox if the conversation has a channel.

    Raises:
        NotFound: the tenant has no such conversation.
        Conflict: the message's id came before with another message; the conversation was erased; or there is nobody on
            its channel to whom it could be sent.
    """
    asked = {
        "id": new_id(),
        "tenant_id": tenant_id,
        "conversation_id": conversation_id,
        "author": message.author,
        "message": message.message,
        "message_id": message.message_id,
        "body_hash": "\\x" + _digest(message).hex(),
    }
    found = call(db, "write_message", written=Jsonb(asked), key=by.key_id, by=by.name)
    if found is None:
        raise NotFound(f"there is no conversation {conversation_id!r}")
    _refuse_erased(found["outcome"], conversation_id)
    if found["outcome"] == "mismatched":
        raise Conflict(f"the message id {message.message_id!r} came before with another body", code="message_id_reused")
    if found["outcome"] == "unreachable":
        raise Conflict(f"nobody has written on the channel of conversation {conversation_id!r}", code="no_recipient")
    return RecordedMessage(found["outcome"], UUID(found["turn_id"]), found["seq"], found["deliver"])


def _digest(message: PersonMessage) -> bytes:
    content = message.model_dump(exclude={"message_id"})
    return hashlib.sha256(orjson.dumps(content, option=orjson.OPT_SORT_KEYS)).digest()


def _refuse_erased(outcome: str, conversation_id: str) -> None:
    if outcome == "erased":
        message = f"conversation {conversation_id!r} was erased, and nobody has written in it since"
        raise Conflict(message, code="erased")
