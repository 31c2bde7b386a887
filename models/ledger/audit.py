"""The audit log: read it, and verify a conversation's chain.

A record's hash is SHA-256 over its fields joined with `|`: tenant, conversation, seq, turn, kind, time (RFC 3339, UTC,
microseconds), digest and the hash before it, both in hex; the first record's hash before it is empty. The digest is
SHA-256 over the content as Postgres writes jsonb, so that an erased content leaves the chain verifiable.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC
from uuid import UUID

from sqlalchemy import Text, cast, select, union
from sqlalchemy.orm import Session

from models.tables.audit import AuditRow
from models.tables.conversations import ConversationRow


@dataclass(frozen=True)
class AuditFault:
    """A record that is not what was written."""

    tenant_id: UUID
    conversation_id: str
    seq: int
    message: str


def page(db: Session, tenant_id: UUID, conversation_id: str, after_seq: int, limit: int) -> list[AuditRow]:
    """Return a page of a conversation's audit records, oldest first."""
    query = select(AuditRow).where(AuditRow.tenant_id == tenant_id, AuditRow.conversation_id == conversation_id)
    return list(db.scalars(query.where(AuditRow.seq > after_seq).order_by(AuditRow.seq).limit(limit)))


def chains(db: Session, tenant_id: UUID | None, conversation_id: str | None) -> list[tuple[UUID, str]]:
    """Return the conversations that have a chain, or should have one: (tenant, conversation).

    Of one tenant and of this name, or all where none is given.
    """
    listed = union(
        select(AuditRow.tenant_id, AuditRow.conversation_id), select(ConversationRow.tenant_id, ConversationRow.id)
    ).subquery()
    query = select(listed.c.tenant_id, listed.c.conversation_id).order_by(*listed.c)
    if tenant_id is not None:
        query = query.where(listed.c.tenant_id == tenant_id)
    if conversation_id is not None:
        query = query.where(listed.c.conversation_id == conversation_id)
    return [tuple(row) for row in db.execute(query)]


def verify(db: Session, tenant_id: UUID, conversation_id: str) -> list[AuditFault]:
    """Return what is changed, missing or reordered in a conversation's audit records; empty where nothing is."""
    return list(_faults(db, tenant_id, conversation_id))


def _faults(db: Session, tenant_id: UUID, conversation_id: str) -> Iterator[AuditFault]:
    query = select(AuditRow, cast(AuditRow.content, Text).label("text")).where(
        AuditRow.tenant_id == tenant_id, AuditRow.conversation_id == conversation_id
    )
    expected, before = 1, b""
    for row, content in db.execute(query.order_by(AuditRow.seq)):
        if row.seq != expected:
            message = f"record {expected} is missing"
            yield AuditFault(tenant_id, conversation_id, expected, message)
        if content is not None and hashlib.sha256(content.encode()).digest() != row.digest:
            yield AuditFault(tenant_id, conversation_id, row.seq, "the content was changed")
        if _hash(row, before) != row.hash:
            yield AuditFault(tenant_id, conversation_id, row.seq, "the record does not follow from the one before it")
        expected, before = row.seq + 1, row.hash
    head = db.execute(
        select(ConversationRow.audit_seq, ConversationRow.audit_hash).where(
            ConversationRow.tenant_id == tenant_id, ConversationRow.id == conversation_id
        )
    ).one_or_none()
    if head is None:
        yield AuditFault(tenant_id, conversation_id, expected, "the conversation itself is missing")
    elif (head.audit_seq, head.audit_hash) != (expected - 1, before):
        yield AuditFault(tenant_id, conversation_id, expected, "records are missing at the end")


def _hash(row: AuditRow, before: bytes) -> bytes:
    at = row.at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    # Postgres' concat_ws leaves out a null, so a record without a turn has a field less.
    fields = [row.tenant_id, row.conversation_id, row.seq, row.turn_id, row.kind, at, row.digest.hex(), before.hex()]
    return hashlib.sha256("|".join(str(field) for field in fields if field is not None).encode()).digest()
