"""The audit log: append-only, hash-chained per conversation, with heads that are signed outside the database."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Index, Integer, LargeBinary
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Mapped, mapped_column

from models.tables.base import Row, created_now


class AuditRow(Row):
    """One record. The chain runs over `digest`, so that `content` can be erased and the chain still verifies."""

    __tablename__ = "audit"
    # Of a few bytes: records come in the order of their times, and only the last are ever looked up by these.
    __table_args__ = (Index(None, "at", postgresql_using="brin"),)

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    conversation_id: Mapped[str] = mapped_column(primary_key=True)
    seq: Mapped[int] = mapped_column(primary_key=True)
    turn_id: Mapped[UUID | None]
    kind: Mapped[str]
    content: Mapped[dict[str, Any] | None]
    """None once erased."""
    digest: Mapped[bytes] = mapped_column(LargeBinary)
    """SHA-256 of the content's text, as Postgres writes jsonb."""
    hash: Mapped[bytes] = mapped_column(LargeBinary)
    """SHA-256 over the record's fields, its digest and the hash before it."""
    at: Mapped[datetime] = created_now()


class AuditHeadRow(Row):
    """A head: where some chains of a tenant stood, signed. It follows from the head before it, as records do."""

    __tablename__ = "audit_heads"
    __table_args__ = (Index(None, "at"),)

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    """1, 2, 3 … of the tenant."""
    at: Mapped[datetime]
    """Every record of these chains that was committed before is covered."""
    conversations: Mapped[list[str]]
    seqs: Mapped[list[int]] = mapped_column(ARRAY(Integer))
    """Of each of these conversations: the number of its last record."""
    hashes: Mapped[list[bytes]] = mapped_column(ARRAY(LargeBinary))
    """And its hash."""
    signature: Mapped[bytes] = mapped_column(LargeBinary)
    """HMAC-SHA256 over all this and the signature before it, with TURNLOOM_AUDIT_KEY."""
