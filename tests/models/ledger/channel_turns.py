"""Open turns of a channel's messages, and end them, as the lifecycle does."""

from typing import Any
from uuid import UUID

from tests.factories import claim_turn, finish_turn, make_tenant
from turnloom.models.connections.database import statement
from turnloom.models.contracts.turn import TurnRequest
from turnloom.models.ledger import channel_items, deliveries, turn_snapshots, turns
from turnloom.models.ledger.channel_items import ChangedMessage, ReceivedItem
from turnloom.models.ledger.deliveries import DeliveryOutcome, NextDelivery
from turnloom.models.ledger.turns import NewTurn, OpenedTurn
from turnloom.models.runtime.ids import new_id

CHANNEL = "telegram:front-desk"
LEASE_MS = 60_000


def item(kind: str, provider_id: str, **fields: Any) -> ReceivedItem:
    """Return an item of a webhook of its own."""
    own = {"id": new_id(), "webhook_id": new_id(), "body": b"{}", "channel": CHANNEL}
    return ReceivedItem(kind=kind, provider_id=provider_id, **(own | fields))


def receive(number: int, text: str = "hello", *, sender: str = "u1", **held: Any) -> OpenedTurn:
    """Open a turn with the message of this provider's number. `fields`: further ones of its item."""
    new = new_turn(number, text, sender=sender, **held)
    with statement() as db:
        return turns.open_turn(db, new)


def new_turn(
    number: int,
    text: str = "hello",
    *,
    sender: str = "u1",
    received: ReceivedItem | None = None,
    fields: dict[str, Any] | None = None,
    on_error: Any = "best_effort",
    **held: Any,
) -> NewTurn:
    """Return a message as it is accepted. `fields`: further ones of its item."""
    conversation = f"{CHANNEL}:{sender}"
    named = {"reference": f"r{number}", **(fields or {})}
    asked = TurnRequest(message=text, conversation_id=conversation, message_id=str(number), on_error=on_error)
    return NewTurn(
        id=new_id(),
        tenant_id=make_tenant(),
        conversation_id=conversation,
        channel=CHANNEL,
        body_hash=text.encode(),
        default_agent="generic",
        deadline_ms=60_000,
        request=asked,
        sequence=number,
        item=received or item("message", str(number), conversation_id=conversation, recipient=sender, **named),
        **held,
    )


def answer(turn_id: UUID | None, text: str = "done") -> None:
    """Plan and answer a turn."""
    turn = claim_turn(turn_id)
    assert turn is not None
    finished = finish_turn(turn, text=text)
    assert finished is not None
    assert finished.deliver


def rendered(turn_id: UUID | None, *texts: str) -> UUID:
    """Store the parts of a turn's reply; return the turn."""
    assert turn_id is not None
    with statement() as db:
        deliveries.store_parts(db, turn_id, 1, [{"text": text} for text in texts])
    return turn_id


def answered(number: int, *texts: str, **fields: Any) -> UUID:
    """Return a turn with a reply whose parts are still to be sent."""
    opened = receive(number, **fields)
    answer(opened.turn_id)
    return rendered(opened.turn_id, *(texts or ("done",)))


def next_part(turn_id: UUID) -> tuple[UUID, int] | None:
    found = next_delivery(turn_id)
    return (found.turn_id, found.part) if found else None


def next_delivery(turn_id: UUID) -> NextDelivery | None:
    with statement() as db:
        return deliveries.next_of(db, turn_id)


def claim(turn_id: UUID, part: int = 1, lease_ms: int = LEASE_MS) -> int | None:
    """Claim a part; return the fence."""
    with statement() as db:
        claimed = deliveries.claim(db, turn_id, part, lease_ms)
    return claimed.attempt if claimed else None


def record(turn_id: UUID, attempt: int | None, part: int = 1, **outcome: Any) -> str | None:
    assert attempt is not None
    with statement() as db:
        return deliveries.record(db, turn_id, part, attempt, DeliveryOutcome(**outcome))


def sent(turn_id: UUID, part: int = 1, provider_id: str = "m1") -> None:
    """Send a part."""
    assert record(turn_id, claim(turn_id, part), part, status="sent", provider_id=provider_id) is not None


def receipt(provider_id: str, status: str, again: dict[str, Any] | None = None, **fields: Any) -> UUID | None:
    tenant_id, received = make_tenant(), item("receipt", provider_id, status=status, **fields)
    with statement() as db:
        return channel_items.note_receipt(db, tenant_id, received, again)


def change(number: int, text: str | None, *, order: int, sender: str = "u1") -> ChangedMessage:
    """Edit the message of this provider's number; without a text, delete it."""
    said = {"deleted": True} if text is None else {"text": text}
    fields = {"conversation_id": f"{CHANNEL}:{sender}", "reference": f"r{number}"}
    edit = item("edit", f"e{order}", detail={"kind": "edit", "order": order, **said}, **fields)
    tenant_id = make_tenant()
    with statement() as db:
        return channel_items.change(db, tenant_id, edit)


def statuses(turn_id: UUID) -> list[str]:
    """Return the statuses of a turn's parts, as a caller sees them."""
    with statement() as db:
        shown = turn_snapshots.read(db, [turn_id])[turn_id]
    return [part["status"] for part in shown.deliveries]
