"""A conversation is all messages between one person and us on one channel."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, ForeignKey, Index, LargeBinary, text
from sqlalchemy.orm import Mapped, mapped_column

from turnloom.models.tables.base import HOT, Row, created_now

IS_LISTED = "last_seq > 0"
"""True of all conversations, and part of the query that lists them. It makes the list's index a partial one, so that
Postgres does not use it to find a single conversation: without statistics, in a young database, it would, and would
read all conversations of a tenant."""

IS_PAUSED = "paused_at IS NOT NULL"
"""True of conversations in which a person writes. Literal for the same reason."""


class ConversationRow(Row):
    """A conversation with its active turn and the end of its audit chain."""

    __tablename__ = "conversations"
    __table_args__ = (
        Index(None, "tenant_id", "updated_at", postgresql_where=text(IS_LISTED)),
        Index("conversations_paused_idx", "tenant_id", postgresql_where=text(IS_PAUSED)),
        HOT,
    )

    tenant_id: Mapped[UUID] = mapped_column(ForeignKey("tenants.id", ondelete="CASCADE"), primary_key=True)
    id: Mapped[str] = mapped_column(primary_key=True)
    """The caller's own id, or one of ours."""
    channel: Mapped[str]
    agent: Mapped[str]
    person: Mapped[dict[str, Any]]
    """The user as the caller last described them."""
    last_seq: Mapped[int]
    """Number of turns so far."""
    last_sequence: Mapped[int] = mapped_column(BigInteger, server_default="0")
    """The sender's highest number that has been worked on; 0 if messages carry none."""
    active_turn_id: Mapped[UUID | None]
    """The one turn that may run; set and cleared in the ledger's transactions."""
    usage: Mapped[dict[str, Any]] = mapped_column(server_default="{}")
    """Usage of its final turns; a turn in work is not yet included."""
    past: Mapped[list[Any]] = mapped_column(server_default="[]")
    """Exchanges `{message, reply}` that the caller brought along when it was opened. They are no turns of ours."""
    slots: Mapped[dict[str, Any]] = mapped_column(server_default="{}")
    """Values that its messages have settled."""
    summary: Mapped[str | None]
    """A summary of its older messages, for the planner."""
    summary_seq: Mapped[int] = mapped_column(server_default="0")
    """The last turn that the summary covers. Exchanges of `past` count down from 0, so it begins below them."""
    paused_at: Mapped[datetime | None]
    """Since when a person writes in place of the agent, and turns are not answered."""
    paused_by: Mapped[str | None]
    audit_seq: Mapped[int] = mapped_column(server_default="0")
    audit_hash: Mapped[bytes] = mapped_column(LargeBinary, server_default="")
    created_at: Mapped[datetime] = created_now()
    updated_at: Mapped[datetime] = created_now()
    erased_at: Mapped[datetime | None]
