"""Items are what providers of channels post: messages, receipts, and what is kept without an answer."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

import psycopg
from psycopg.types.json import Jsonb
from sqlalchemy import select, text
from sqlalchemy.orm import Session

from turnloom.models.contracts.base import rfc3339
from turnloom.models.ledger.cancellation import ClosedTurn, read_closed
from turnloom.models.ledger.recovery import LEASE_MS
from turnloom.models.ledger.transitions import call
from turnloom.models.tables.channels import ChannelItemRow, WebhookRow


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedItem:
    """One item of a provider's request. Each field has the meaning of its column."""

    id: UUID
    webhook_id: UUID
    body: bytes = field(repr=False)
    """The request's whole body."""
    channel: str
    kind: str
    provider_id: str
    reference: str | None = None
    status: str = ""
    conversation_id: str | None = None
    recipient: str | None = None
    detail: dict[str, Any] = field(default_factory=dict)
    at: datetime | None = None
    key: str | None = None
    """Of a receipt, the key of the delivery that it is about, if the provider hands it back."""

    def fields(self, tenant_id: UUID) -> dict[str, Any]:
        """Return the item as the ledger's functions take it."""
        return {
            "tenant_id": tenant_id,
            "id": self.id,
            "webhook_id": self.webhook_id,
            "body": "\\x" + self.body.hex(),
            "channel": self.channel,
            "kind": self.kind,
            "provider_id": self.provider_id,
            "reference": self.reference,
            "status": self.status,
            "conversation_id": self.conversation_id,
            "recipient": self.recipient,
            "detail": self.detail,
            "key": self.key,
            "at": None if self.at is None else rfc3339(self.at),
        }


def keep(db: psycopg.Connection, tenant_id: UUID, item: ReceivedItem) -> bool:
    """Keep an item that is not answered; False if it came before."""
    return bool(call(db, "keep_item", item=Jsonb(item.fields(tenant_id)), turn=None))


@dataclass(frozen=True, slots=True)
class Correction:
    """An edit of a message whose turn has begun, as a message of its own."""

    message: str
    before: str | None
    """What was said before, shortened."""
    recipient: str


@dataclass(frozen=True, slots=True)
class ChangedMessage:
    """The outcome of an edit or a deletion."""

    outcome: Literal["repeated", "waiting", "outdated", "changed", "same", "removed", "noted", "begun"]
    """`waiting`: its message did not come yet. `outdated`: a later change is known. `changed`, `same`, `removed`: the
    turn that waits with the message has its new text, or is without it. `noted`: the turn of a deleted message has
    begun. `begun`: that of an edited one has; nothing is recorded, and the caller opens a turn with the correction."""
    closed: ClosedTurn | None
    """The turn that has no message left. The caller has it ended."""
    correction: Correction | None


def change(db: psycopg.Connection, tenant_id: UUID, item: ReceivedItem) -> ChangedMessage:
    """Apply an edit or a deletion to the turn that waits with the message.

    `item.detail`: `{text}` or `{deleted: true}`, and `order`, which grows with the changes of a message.
    """
    found = call(db, "change_message", item=Jsonb(item.fields(tenant_id)), lease_ms=LEASE_MS)
    correction = None
    if found["outcome"] == "begun":
        correction = Correction(found["message"], found["before"], found["recipient"])
    return ChangedMessage(found["outcome"], read_closed(found.get("closed")), correction)


def note_receipt(
    db: psycopg.Connection, tenant_id: UUID, item: ReceivedItem, again: dict[str, Any] | None
) -> UUID | None:
    """Keep a receipt, and join it to the part of a reply that it is about.

    `again`: {wait_ms} if a part that has failed is to be sent again, {body} if this is to be sent in place of it.
    Returns the turn for which something is to be sent; the caller dispatches that.
    """
    fields = Jsonb(item.fields(tenant_id))
    turn: UUID | None = call(db, "note_receipt", item=fields, again=None if again is None else Jsonb(again))
    return turn


def prune(db: Session, age_s: int, limit: int) -> int:
    """Remove what came so many seconds ago and belongs to no conversation; return how much, at most `limit`."""
    removed: int = call(db, "prune_channel_items", age_s=age_s, limit=limit)
    return removed


def kept(db: Session, tenant_id: UUID, channel: str | None, limit: int) -> list[tuple[ChannelItemRow, bytes]]:
    """Return what was kept without an answer, with the bodies of the requests; the newest first."""
    query = (
        select(ChannelItemRow, WebhookRow.body)
        .join(
            WebhookRow,
            (WebhookRow.tenant_id == ChannelItemRow.tenant_id) & (WebhookRow.id == ChannelItemRow.webhook_id),
        )
        .where(ChannelItemRow.tenant_id == tenant_id, text("kind = 'kept'"))
    )
    if channel is not None:
        query = query.where(ChannelItemRow.channel == channel)
    found = db.execute(query.order_by(ChannelItemRow.created_at.desc(), ChannelItemRow.id.desc()).limit(limit))
    return [(row, body) for row, body in found]
