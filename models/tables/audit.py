"""The audit log is append-only and hash-chained per conversation and tenant; heads are signed outside the database."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Index, Integer, LargeBinary
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Mapped, mapped_column

from turnloom.models.tables.base import Row, created_now


class AuditRow(Row):
    """One record. The chain runs over `digest`, so that `content` can be erased and the chain still verifies."""

    __tablename__ = "audit"
    # A tiny index is enough: records come in the order of their times, and only the latest are looked up by time.
    __table_args__ = (Index(None, "at", postgresql_using="brin"),)

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    conversation_id: Mapped[str] = mapped_column(primary_key=True)
    """The empty text for the tenant's own chain."""
    seq: Mapped[int] = mapped_column(primary_key=True)
    turn_id: Mapped[UUID | None]
    kind: Mapped[str]
    content: Mapped[dict[str, Any] | None]
    """None once erased."""
    digest: Mapped[bytes] = mapped_column(LargeBinary)
    """SHA-256 of the content's text, as Postgres writes jsonb."""
    hash: Mapped[bytes] = mapped_column(LargeBinary)
    """SHA-256 over the record's fields, its digest and the previous hash."""
    at: Mapped[datetime] = created_now()


class AuditHeadRow(Row):
    """A head: the signed state of some of a tenant's chains. It is chained to the head before it, as records are."""

    __tablename__ = "audit_heads"
    __table_args__ = (Index(None, "at"),)

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    """Counts the tenant's heads: 1, 2, 3 …"""
    at: Mapped[datetime]
    """Every record of these chains that was committed before is covered."""
    conversations: Mapped[list[str]]
    seqs: Mapped[list[int]] = mapped_column(ARRAY(Integer))
    """The number of the last record of each of these conversations."""
    hashes: Mapped[list[bytes]] = mapped_column(ARRAY(LargeBinary))
    """The hash of that record."""
    signature: Mapped[bytes] = mapped_column(LargeBinary)
    """Ed25519 over all this and the previous signature, with the key made of TURNLOOM_AUDIT_KEY. Heads of earlier
    releases have HMAC-SHA256 instead."""
