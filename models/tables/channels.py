"""Channels: accounts with a provider of messages, what providers post to them, and what is sent to people."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ForeignKey, Index, LargeBinary, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from turnloom.models.tables.base import HOT, JSON, Row, created_now

IS_PENDING = "status = 'pending'"
"""Condition of deliveries that are still to be sent. Literal, so that the indexes with this condition are used by every
query plan."""
IS_STRANDED = "status IN ('failed', 'unknown')"
"""Condition of deliveries that an operator may send again. Literal for the same reason."""


class ChannelAccountRow(Row):
    """A tenant's account with a provider of messages. Its webhook's address names the channel and the account."""

    __tablename__ = "channel_accounts"
    __table_args__ = (UniqueConstraint("channel", "name"),)

    tenant_id: Mapped[UUID] = mapped_column(ForeignKey("tenants.id", ondelete="CASCADE"), primary_key=True)
    id: Mapped[UUID] = mapped_column(primary_key=True)
    channel: Mapped[str]
    name: Mapped[str]
    """Unique within the channel, whoever's it is: the provider's request says nothing about tenants."""
    agent: Mapped[str]
    """The agent that answers."""
    secret: Mapped[bytes | None] = mapped_column(LargeBinary)
    """The configuration, encrypted."""
    key_id: Mapped[str | None] = mapped_column(index=True)
    """The key that encrypted it."""
    created_at: Mapped[datetime] = created_now()
    updated_at: Mapped[datetime] = created_now()


class WebhookRow(Row):
    """The body of a request of a provider, as it came."""

    __tablename__ = "webhooks"

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    id: Mapped[UUID] = mapped_column(primary_key=True)
    body: Mapped[bytes] = mapped_column(LargeBinary)
    created_at: Mapped[datetime] = created_now()


class ChannelItemRow(Row):
    """One thing that a provider's request reports: a message, a receipt, or something that is not answered."""

    __tablename__ = "channel_items"
    __table_args__ = (
        UniqueConstraint("tenant_id", "channel", "kind", "provider_id", "status"),
        Index(None, "turn_id", postgresql_where=text("turn_id IS NOT NULL")),
        Index(None, "tenant_id", "conversation_id", "at", postgresql_where=text("conversation_id IS NOT NULL")),
        Index(None, "tenant_id", "webhook_id"),
        Index(None, "tenant_id", "channel", "reference", postgresql_where=text("reference IS NOT NULL")),
        Index("channel_items_kept_idx", "id", postgresql_where=text("kind = 'kept'")),
    )

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    id: Mapped[UUID] = mapped_column(primary_key=True)
    webhook_id: Mapped[UUID]
    channel: Mapped[str]
    """Channel and account, such as `telegram:front-desk`, as in turns."""
    kind: Mapped[str]
    """`message`; `answer`: a message that answers a request for approval; `receipt`; `edit`; `kept`: it is not
    answered."""
    provider_id: Mapped[str]
    """The provider's id of the message; of a receipt, that of our message; of another thing kept, a digest of it."""
    reference: Mapped[str | None]
    """By which an edit or a deletion names its message. An edit that waits for its message is `kept` with this."""
    status: Mapped[str] = mapped_column(server_default="")
    """What a receipt says."""
    conversation_id: Mapped[str | None]
    turn_id: Mapped[UUID | None]
    """The turn that a message became a part of, or whose request it answers."""
    recipient: Mapped[str | None]
    """Where the answer to a message goes."""
    detail: Mapped[dict[str, Any]] = mapped_column(server_default="{}")
    """Of something kept, what the provider calls it and why it is not answered; of a receipt, the error; of an edit,
    and of a message that corrects another one, the `text`, its `order` and what was said `before`. A message that was
    deleted, and its deletion, have `deleted`."""
    at: Mapped[datetime] = created_now()
    """When a message was written, by the provider's clock; for other kinds, when it came."""
    created_at: Mapped[datetime] = created_now()


class DeliveryRow(Row):
    """A part of what is sent to a recipient: one message. While it is pending, this row is the outbox."""

    __tablename__ = "deliveries"
    __table_args__ = (
        Index(
            "deliveries_pending_idx",
            "tenant_id",
            "conversation_id",
            "queued_at",
            "turn_id",
            "part",
            postgresql_where=text(IS_PENDING),
        ),
        Index("deliveries_due_idx", "due_at", postgresql_where=text(IS_PENDING)),
        Index("deliveries_stranded_idx", "tenant_id", "finished_at", postgresql_where=text(IS_STRANDED)),
        Index(None, "tenant_id", "channel", "provider_id", postgresql_where=text("provider_id IS NOT NULL")),
        HOT,
    )

    turn_id: Mapped[UUID] = mapped_column(primary_key=True)
    part: Mapped[int] = mapped_column(primary_key=True)
    """From 1."""
    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    conversation_id: Mapped[str]
    channel: Mapped[str]
    """Channel and account, as in turns."""
    recipient: Mapped[str]
    says: Mapped[dict[str, Any] | None]
    """None for the reply. `{ask: step, args_hash}`: a request to approve a call; `{tell: why}`: the word to an answer
    that changed nothing."""
    body: Mapped[Any] = mapped_column(type_=JSON, nullable=True)
    """The message as the adapter rendered it; None until then, and after erasure."""
    offers: Mapped[list[Any] | None]
    """The answers that it offers: `{payload, title, number}` of each, in the order in which they are shown."""
    status: Mapped[str]
    """`pending`, `sent`, `delivered`, `read`, `failed`, `unknown` or `withheld`."""
    attempt: Mapped[int] = mapped_column(server_default="0")
    """The fence of sending: only this attempt may record."""
    lease_until: Mapped[datetime | None]
    failures: Mapped[int] = mapped_column(server_default="0")
    """Attempts after which it is to be tried again."""
    unsure: Mapped[bool] = mapped_column(server_default="false")
    """Whether an attempt may have been taken: it is asked about before it is sent again."""
    not_before: Mapped[datetime | None]
    """Before that it is not sent."""
    due_at: Mapped[datetime | None]
    """When it is handed to the workers again if nobody has sent it by then."""
    nudges: Mapped[int] = mapped_column(server_default="0")
    """How often that has happened since the last attempt."""
    provider_id: Mapped[str | None]
    error: Mapped[dict[str, Any] | None]
    queued_at: Mapped[datetime]
    """When its turn became final, or had something to ask. Parts for one recipient go out in this order; those of one
    message have the same."""
    begun_at: Mapped[datetime | None]
    """When it was first claimed."""
    finished_at: Mapped[datetime | None]
