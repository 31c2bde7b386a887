"""Answers in chat: messages that take an answer which a message of ours offers.

Such a message decides about a call that waits for approval, or stands for a choice of a question.
"""

from dataclasses import asdict, dataclass
from typing import Any, Literal
from uuid import UUID

import psycopg
from psycopg.types.json import Jsonb

from turnloom.models.contracts.approval import Decision
from turnloom.models.ledger.approvals import Decided, read_decided
from turnloom.models.ledger.cancellation import read_closed
from turnloom.models.ledger.limits import windows
from turnloom.models.ledger.recovery import LEASE_MS
from turnloom.models.ledger.transitions import call
from turnloom.models.ledger.turns import NewTurn, OpenedTurn, write_new


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatAnswer:
    """An answer that a message may be."""

    said: str
    """Its words."""
    payload: str | None = None
    """The payload of the button that was tapped."""
    quoted: str | None = None
    """The provider's id of our message that it quotes, or whose button was tapped."""
    number: int | None = None
    """The number that it says."""
    means: Decision | None = None
    """The decision that it says."""


@dataclass(frozen=True, slots=True)
class TakenAnswer:
    """The outcome of a message that opened no turn."""

    outcome: Literal["decided", "moot", "repeated", "strange"]
    """`moot`: it changed nothing, and the person is told why. `repeated`: it came before. `strange`: its button was not
    shown in its conversation, and it is kept."""
    turn_id: UUID | None = None
    """The turn whose request it answers."""
    decided: Decided | None = None
    """The decision; the caller carries out its consequences."""
    deliver: bool = False
    """Whether something is to be sent for the turn. The caller dispatches that."""


def take(db: psycopg.Connection, new: NewTurn, answer: ChatAnswer) -> OpenedTurn | TakenAnswer:
    """Take a message that may be an answer. If it is none, it is opened as a turn.

    An answer to a request for approval holds only for what was shown, and only from the person who was asked. An answer
    to what is no longer to be decided changes nothing.
    """
    given = {name: value for name, value in asdict(answer).items() if value is not None}
    asked = Jsonb({**write_new(new), "answer": given})
    found = call(db, "take_answer", new=asked, lease_ms=LEASE_MS, windows=windows())
    if "opened" in found:
        return _opened(found["opened"])
    if "turn" not in found:
        return TakenAnswer("repeated" if found.get("repeated") else "strange")
    turn_id, decided = UUID(found["turn"]), found.get("decided")
    if decided is None:
        return TakenAnswer("moot", turn_id, deliver=found["deliver"])
    return TakenAnswer("decided", turn_id, read_decided(turn_id, decided))


def _opened(found: dict[str, Any]) -> OpenedTurn:
    turn_id = found["turn_id"]
    read = {"turn_id": turn_id and UUID(turn_id), "closed": read_closed(found["closed"])}
    return OpenedTurn(**{**found, **read, "is_sent": bool(found["is_sent"])})
