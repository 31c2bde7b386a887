"""Replays of recorded conversations, and conversations that another system has recorded."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Index, text
from sqlalchemy.orm import Mapped, mapped_column

from turnloom.models.tables.base import HOT, JSON, Row, created_now

IS_OPEN = "report IS NULL"
"""Condition of replays that are worked on, or whose report is to be made. Literal, so that the index with this
condition is used."""

IS_NOT_DONE = "done_at IS NULL"
"""Condition of conversations that are not replayed yet. Literal for the same reason."""


class RecordedConversationRow(Row):
    """A conversation of another system, kept to be replayed."""

    __tablename__ = "recorded_conversations"

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    id: Mapped[str] = mapped_column(primary_key=True)
    """The other system's own id."""
    user_id: Mapped[str | None]
    agent: Mapped[str | None]
    """The agent that it names."""
    started_at: Mapped[datetime]
    content: Mapped[dict[str, Any]]
    """A `ForeignConversation`."""
    created_at: Mapped[datetime] = created_now()


class ReplayRow(Row):
    """A replay of a number of conversations."""

    __tablename__ = "replays"
    __table_args__ = (Index("replays_open_idx", "id", postgresql_where=text(IS_OPEN)), HOT)

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    id: Mapped[UUID] = mapped_column(primary_key=True)
    status: Mapped[str] = mapped_column(server_default="running")
    """`running`, `finished` or `cancelled`."""
    options: Mapped[dict[str, Any]]
    """What is replayed, and with what: `ReplayOptions`."""
    report: Mapped[Any] = mapped_column(type_=JSON, nullable=True)
    """A `ReplayReport`; None until it is made, and again after one of its conversations was erased."""
    created_at: Mapped[datetime] = created_now()
    finished_at: Mapped[datetime | None]


class ReplayConversationRow(Row):
    """A conversation of a replay. `attempt` is its fence: only the claim with this number may record."""

    __tablename__ = "replay_conversations"
    __table_args__ = (
        Index(None, "tenant_id", "conversation_id"),
        Index("replay_conversations_open_idx", "tenant_id", "replay_id", "number", postgresql_where=text(IS_NOT_DONE)),
        HOT,
    )

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    replay_id: Mapped[UUID] = mapped_column(primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    """Its place in the report, from 1."""
    conversation_id: Mapped[str]
    user_id: Mapped[str | None]
    """The person of a conversation that is not in the ledger."""
    content: Mapped[dict[str, Any] | None]
    """A `ForeignConversation`, of a fork `ForkChanges`; None: the ledger has it, and nothing of it is changed."""
    attempt: Mapped[int] = mapped_column(server_default="0")
    lease_until: Mapped[datetime | None]
    result: Mapped[Any] = mapped_column(type_=JSON, nullable=True)
    """Its replayed turns, each a `ReplayedTurn`; None until it is done."""
    done_at: Mapped[datetime | None]
