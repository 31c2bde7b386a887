"""Deliveries are the parts of channels' replies on their way: found, claimed, recorded and redriven here."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

import psycopg
from psycopg.types.json import Jsonb

from turnloom.models.contracts.turn import Reply
from turnloom.models.errors import Conflict, NotFound
from turnloom.models.ledger.transitions import call, call_rows
from turnloom.models.runtime.operators import Operator


@dataclass(frozen=True, slots=True, kw_only=True)
class NextDelivery:
    """The next part for a recipient. Nobody holds it."""

    turn_id: UUID
    part: int
    tenant_id: UUID
    channel: str
    """Channel and account, such as `telegram:front-desk`."""
    recipient: str
    body: dict[str, Any] | None
    """The message as it was rendered; None: `reply`, or what it `says`, is still to be rendered."""
    reply: Reply | None
    says: dict[str, Any] | None
    """What it says if it is no reply: `{ask: step, args_hash}` or `{tell: why}`."""
    request: dict[str, Any] | None
    """What it asks, `{tool, args}` with secrets masked; None if it asks nothing, or if nothing is to be decided any
    more."""
    spoken: dict[str, Any] | None
    """What tells the person's language, `{person, messages}`, if it is still to be written."""
    failures: int
    age_s: float
    """Seconds since it was queued."""
    silent_s: float | None
    """Seconds since the person wrote last; None if that was erased."""

    @property
    def key(self) -> str:
        """The part's own key, the same for each attempt. hot.receipt_part and hot.answered_part read it."""
        return f"{self.turn_id.hex}-{self.part}"

    @property
    def is_request(self) -> bool:
        """Whether it asks for a decision."""
        return self.says is not None and "ask" in self.says


@dataclass(frozen=True, slots=True)
class ClaimedDelivery:
    """A part that this process may send, until its lease ends."""

    attempt: int
    """The fence of sending."""
    unsure: bool
    """Whether an earlier attempt may have been taken."""
    begun_at: datetime
    """When it was first claimed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryOutcome:
    """The outcome of an attempt."""

    status: Literal["sent", "failed", "unknown", "pending", "withheld"]
    """`pending`: it is tried again. `withheld`: it is not sent, and `body` in place of it and of those after it, if
    there is one."""
    provider_id: str | None = None
    error: dict[str, str] | None = None
    wait_ms: int = 0
    """The pause before it is tried again."""
    unsure: bool = False
    """Whether the attempt may have been taken; the next one begins with a question."""
    body: dict[str, Any] | None = None


def next_of(db: psycopg.Connection, turn_id: UUID) -> NextDelivery | None:
    """Return the next part for the recipient of a turn. None: there is none, it is not due, or somebody sends it."""
    found = call(db, "next_delivery", turn=turn_id)
    if found is None:
        return None
    return NextDelivery(
        turn_id=UUID(found["turn_id"]),
        part=found["part"],
        tenant_id=UUID(found["tenant_id"]),
        channel=found["channel"],
        recipient=found["recipient"],
        body=found["body"],
        reply=None if found["reply"] is None else Reply.model_validate(found["reply"]),
        says=found["says"],
        request=found["request"],
        spoken=found["spoken"],
        failures=found["failures"],
        age_s=found["age_s"],
        silent_s=found["silent_s"],
    )


def store_parts(
    db: psycopg.Connection,
    turn_id: UUID,
    part: int,
    bodies: Sequence[dict[str, Any]],
    offers: Sequence[dict[str, Any]] = (),
) -> None:
    """Store the messages that a part was rendered to, unless somebody else has. `offers`: the answers at the last."""
    offered = Jsonb(list(offers)) if offers else None
    call(db, "store_parts", turn=turn_id, part=part, bodies=Jsonb(list(bodies)), offers=offered)


def delay(db: psycopg.Connection, turn_id: UUID, part: int, wait_ms: int) -> None:
    """Leave a part alone for a time."""
    call(db, "delay_delivery", turn=turn_id, part=part, wait_ms=wait_ms)


def claim(db: psycopg.Connection, turn_id: UUID, part: int, lease_ms: int) -> ClaimedDelivery | None:
    """Claim a part. None: it is not the recipient's next one, or somebody else sends it."""
    found = call(db, "claim_delivery", turn=turn_id, part=part, lease_ms=lease_ms)
    if found is None:
        return None
    return ClaimedDelivery(found["attempt"], found["unsure"], datetime.fromisoformat(found["begun_at"]))


def record(db: psycopg.Connection, turn_id: UUID, part: int, attempt: int, outcome: DeliveryOutcome) -> str | None:
    """Record what became of an attempt; return the part's status. None: the fence is old and nothing was recorded."""
    written = {name: getattr(outcome, name) for name in outcome.__slots__}
    status: str | None = call(
        db,
        "record_delivery",
        turn=turn_id,
        part=part,
        attempt=attempt,
        outcome=Jsonb({name: value for name, value in written.items() if value is not None}),
    )
    return status


def take_due(db: psycopg.Connection, limit: int) -> list[UUID]:
    """Take the parts that nobody has sent in time; return their turns, which the caller dispatches."""
    return [turn_id for (turn_id,) in call_rows(db, "take_due_deliveries", limit=limit)]


def redrive(db: psycopg.Connection, turn_id: UUID, part: int, by: Operator) -> None:
    """Let a part that has failed, or whose outcome is unknown, be sent again.

    Raises:
        NotFound: there is no such part.
        Conflict: it is not one that can be sent again.
    """
    before = call(db, "redrive_delivery", turn=turn_id, part=part, key=by.key_id, by=by.name)
    if before is None:
        raise NotFound(f"there is no part {part} of a reply to turn {turn_id}")
    if before not in ("failed", "unknown"):
        raise Conflict(f"part {part} of turn {turn_id} is {before}: only a failed or an unknown one is sent again")
