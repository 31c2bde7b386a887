"""Turns are opened, claimed, finished and read here."""

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from typing import Any, Literal
from uuid import UUID

import psycopg
from psycopg.types.json import Jsonb
from sqlalchemy import select
from sqlalchemy.orm import Session

from turnloom.models.contracts.event import Event, read_events
from turnloom.models.contracts.manner import Manner, read_manner
from turnloom.models.contracts.memory import Exchange
from turnloom.models.contracts.turn import Again, Bound, FinalTurnStatus, Reply, TurnRequest, Usage
from turnloom.models.contracts.usage import Allowance, LlmCall
from turnloom.models.errors import NotFound
from turnloom.models.ledger.cancellation import ClosedTurn, read_closed
from turnloom.models.ledger.channel_items import ReceivedItem
from turnloom.models.ledger.free_llm_slots import EMPTY, Crowded, LlmRoom
from turnloom.models.ledger.limits import windows
from turnloom.models.ledger.memory import Recalled, read_recalled
from turnloom.models.ledger.recovery import LEASE_MS
from turnloom.models.ledger.transitions import call, call_rows
from turnloom.models.ledger.usage import read_allowances, read_usage, write_calls
from turnloom.models.tables.turns import TurnRow

Outcome = Literal["opened", "merged", "repeated", "mismatched", "full", "busy", "moved", "deleted", "later"]
_EXCHANGES = 24
"""Most earlier turns that are recalled word for word; packing chooses from them."""
_RESULTS = 20
"""Most results of earlier turns that are recalled."""
_COLUMNS = ("message_id", "agent", "mode", "llm", "on_error", "on_busy", "message", "callback_url", "priority")
"""Fields of a request that have a column of the same name."""
_OF_NEW = (
    *("id", "tenant_id", "conversation_id", "channel", "sequence", "may_open", "user_backlog", "after_seq"),
    *("default_agent", "deadline_ms", "order_ms", "burst_ms"),
)
"""Fields of a new turn that the ledger takes under the same name."""


@dataclass(frozen=True)
class NewTurn:
    """A message as it is accepted."""

    id: UUID
    tenant_id: UUID
    conversation_id: str
    channel: str
    body_hash: bytes
    """SHA-256 of the canonical request."""
    default_agent: str
    """The agent of a new conversation, if the request names none."""
    deadline_ms: int
    request: TurnRequest
    may_open: bool = True
    """Whether the backlog has room. If not, only a repeated message is accepted."""
    user_backlog: int | None = None
    """Most turns of its user that may wait for the user's others; None: any number."""
    sequence: int | None = None
    """The sender's number of the message in its conversation: messages are worked on in this order."""
    order_ms: int = 0
    """How long it waits for earlier messages that are missing by its sender's count. 0: the numbers may have gaps."""
    burst_ms: int = 0
    """How long it waits for further messages, which become a part of it."""
    item: ReceivedItem | None = None
    """What the provider of its channel has posted, to be kept in the same commit."""
    manner: Manner | None = None
    transcript_digest: bytes | None = None
    """Digest of the transcript that the message ends, if its sender has sent one."""
    past: Sequence[Exchange] = ()
    """Exchanges that come before the message if it opens a conversation."""
    after_seq: int | None = None
    """The last turn that its sender knows. If the conversation has gone on since, the message is not recorded."""


@dataclass(frozen=True)
class OpenedTurn:
    """The result of opening a turn."""

    outcome: Outcome
    """`merged`: it became a part of the turn returned. `repeated`, `mismatched`: its id came before, with the same or
    another body. `full`, `busy`: refused. `moved`: not recorded, because the conversation is past `after_seq`.
    `deleted`: kept, because its sender deleted it before it came. `later`: not recorded, because that would have had to
    wait."""
    turn_id: UUID | None
    conversation_id: str
    seq: int | None
    is_sent: bool
    """Whether the caller must dispatch it; otherwise it is held, or follows earlier turns."""
    closed: ClosedTurn | None
    """The turn that it replaces; or itself, if a person writes in its conversation."""


@dataclass(frozen=True)
class ClaimedTurn:
    """A turn that this process may plan, until its lease ends."""

    id: UUID
    tenant_id: UUID
    conversation_id: str
    seq: int
    agent: str
    mode: str | None
    llm: str | None
    """The language model that the caller named."""
    manner: Manner | None
    on_error: str
    message: str
    person: dict[str, Any]
    submitted_plan: dict[str, Any] | None
    attempt: int
    """The fence of planning and responding."""
    generation: int
    """The generation of its steps, including those that start before the plan is complete."""
    revision: int
    """Revisions of its plan so far."""
    again: Again | None
    """Why it is planned again, if it is."""
    slots: dict[str, Any]
    """The conversation's slots so far; in a revision, with those from its own message."""
    early_attempt: int
    """The attempt for steps that its planner begins before the plan is complete: no step of the turn has used it."""
    tries: int
    """Claims by planners since the last revision, including this one."""
    usage: Usage
    """Usage of its language-model calls so far."""
    allowances: list[Allowance]
    """The limits of its tenant's budget on these."""
    left_ms: int
    """Time until its deadline."""
    at: float
    """The ledger's time, in seconds since 1970."""
    heard_at: float
    """The same moment on this process's monotonic clock."""
    recalled: Recalled | None
    """What its planner learns of its conversation; None if the caller posted the plan."""
    events: list[Event]


_CLAIMED = tuple(field.name for field in fields(ClaimedTurn))


@dataclass(frozen=True)
class Ending:
    """The end of a turn, ready to be recorded."""

    status: FinalTurnStatus
    reply: Reply
    trace: dict[str, Any]
    """The origin of the reply."""
    output: Any = None
    error: dict[str, Any] | None = None
    slots: dict[str, Any] | None = None
    """The conversation's slots after it; None: those of its plan."""
    bound: Bound | None = None
    """The bound that kept it from being planned again, if one did."""


@dataclass(frozen=True)
class FinishedTurn:
    """The result of finishing a turn."""

    events: list[Event]
    released: list[UUID]
    """The tenant's turns that may be planned now, the conversation's next one or others. The caller dispatches them."""
    deliver: bool
    """Whether its reply is to be sent on a channel. The caller dispatches that, too."""
    call_back: bool
    """Whether its callback is to be sent. The caller wakes a worker for it."""


def open_turn(db: psycopg.Connection, new: NewTurn) -> OpenedTurn:
    """Record a message durably as a turn of its conversation."""
    return open_turns(db, [new], may_wait=True)[0]


def open_turns(db: psycopg.Connection, new_turns: Sequence[NewTurn], *, may_wait: bool = False) -> list[OpenedTurn]:
    """Record messages in one commit. Without `may_wait`, messages that would have to wait for a lock are left out."""
    # Two commits that make the same conversations must do it in the same order, or they could deadlock.
    ordered = sorted(new_turns, key=lambda new: (new.tenant_id, new.conversation_id))
    asked = Jsonb([write_new(new) for new in ordered])
    rows = call_rows(db, "open_turns", turns=asked, lease_ms=LEASE_MS, windows=windows(), may_wait=may_wait)
    opened = {
        new.id: OpenedTurn(outcome, turn_id, conversation_id, seq, is_sent, read_closed(closed))
        for new, (outcome, turn_id, conversation_id, seq, is_sent, closed) in zip(ordered, rows, strict=True)
    }
    return [opened[new.id] for new in new_turns]


def write_new(new: NewTurn) -> dict[str, Any]:
    """Return a new turn as the ledger's functions take it."""
    request = new.request
    return {
        **{name: getattr(request, name) for name in _COLUMNS},
        **{name: getattr(new, name) for name in _OF_NEW},
        "body_hash": _bytea(new.body_hash),
        "transcript_digest": _bytea(new.transcript_digest) if new.transcript_digest else None,
        "manner": new.manner.model_dump(exclude_none=True) if new.manner else None,
        "past": [{"message": each.message, "reply": each.reply} for each in new.past],
        "person": request.user.model_dump(exclude_none=True) if request.user else {},
        "extra": request.metadata,
        "submitted_plan": request.plan,
        **({} if new.item is None else {"item": new.item.fields(new.tenant_id)}),
    }


def _bytea(value: bytes) -> str:
    return "\\x" + value.hex()


def claim(db: psycopg.Connection, turn_id: UUID, lease_ms: int, room: LlmRoom = EMPTY) -> ClaimedTurn | Crowded | None:
    """Claim the planning of a turn, and recall its conversation. None: it is held by another, done, or not sent yet."""
    found = call(
        db,
        "claim_turn",
        turn=turn_id,
        lease_ms=lease_ms,
        may_draft=room.may_draft,
        crowded=list(room.crowded),
        exchanges=_EXCHANGES,
        results=_RESULTS,
    )
    if found is None:
        return None
    if "crowded" in found:
        return Crowded(UUID(found["crowded"]))
    read: dict[str, Any] = {
        "id": turn_id,
        "tenant_id": UUID(found["tenant_id"]),
        "manner": read_manner(found["manner"]),
        "usage": read_usage(found["usage"]),
        "allowances": read_allowances(found["allowances"]),
        "heard_at": time.monotonic(),
        "recalled": read_recalled(found["recalled"]) if found["recalled"] else None,
        "events": read_events(found["events"]),
    }
    return ClaimedTurn(**{name: found[name] for name in _CLAIMED if name not in read}, **read)


def plan_again(db: psycopg.Connection, turn_id: UUID, attempt: int, again: Again) -> bool:
    """Return a turn that would have been answered to the planners. False: the fence is old, or the turn was closed."""
    return bool(call(db, "plan_again", turn=turn_id, attempt=attempt, again=again))


def finish(
    db: psycopg.Connection, turn_id: UUID, attempt: int, ending: Ending, calls: Sequence[LlmCall] = ()
) -> FinishedTurn | None:
    """End a turn with its reply and the calls for it. None: the fence is old and nothing was recorded."""
    found = call(
        db,
        "finish_turn",
        turn=turn_id,
        attempt=attempt,
        end=write_ending(ending),
        calls=write_calls(calls),
        windows=windows(),
    )
    return read_finished(found) if found else None


def write_ending(ending: Ending) -> Jsonb:
    """Return the end of a turn in the form that the ledger's functions take; None values are left out."""
    reply = ending.reply.model_dump(mode="json") | {"trace": ending.trace}
    return Jsonb({name: value for name, value in {**vars(ending), "reply": reply}.items() if value is not None})


def read_finished(found: dict[str, Any]) -> FinishedTurn:
    """Read the result of `hot.finish_turn`."""
    released = [UUID(turn_id) for turn_id in found["released"]]
    return FinishedTurn(read_events(found["events"]), released, found["deliver"], found["call_back"])


def release_due(db: psycopg.Connection) -> list[UUID]:
    """Hand held turns that are due to the planners, as far as their tenants' windows have room."""
    return [turn_id for (turn_id,) in call_rows(db, "release_due", windows=windows())]


def get(db: Session, turn_id: UUID, tenant_id: UUID | None = None) -> TurnRow | None:
    """Return a turn; with a tenant, only one of that tenant's."""
    query = select(TurnRow).where(TurnRow.id == turn_id)
    return db.scalar(query if tenant_id is None else query.where(TurnRow.tenant_id == tenant_id))


def of_tenant(db: Session, tenant_id: UUID, turn_id: str) -> TurnRow:
    """Return a tenant's turn by the id that a caller sent.

    Raises:
        NotFound: there is none, it belongs to another tenant, or the id is malformed.
    """
    with suppress(ValueError):
        if row := get(db, UUID(turn_id), tenant_id):
            return row
    raise NotFound("there is no turn of that id")
