"""Heads of the audit log are signatures that cannot be forged without the key, even with write access to the database.

A chain proves that its records follow from each other. It does not show that a chain was rewritten, cut at its end, or
removed as a whole. So about once a minute each tenant gets a head: for every chain with new records, the number and the
hash of the last one. It is signed with Ed25519, by a key that the database does not have, over these fields joined with
`|`: tenant, number, time (RFC 3339, UTC, microseconds), SHA-256 of the entries' digests and the previous signature,
both in hex. The first head's previous signature is empty. An entry is a line `conversation seq hash`, and its digest is
SHA-256 over it: so whoever verifies one conversation need not be told of the others.

Heads of earlier releases have another signature: HMAC-SHA256, over the entries' lines themselves.
"""

import hashlib
import hmac
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import func, select, text
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session

from turnloom.models.contracts.base import rfc3339
from turnloom.models.errors import NotFound
from turnloom.models.ledger import audit_key
from turnloom.models.ledger.audit import AuditFault
from turnloom.models.tables.audit import AuditHeadRow

_ENTRIES = 1_000
"""Most entries in one head; a tenant with more gets several heads."""
_PAGE = 100
_HMAC_BYTES = 32

# A record's time is taken before its commit: a record may be older than the last head and have been committed after it.
_UNSEALED = text("""
    WITH last AS MATERIALIZED (
      SELECT coalesce(max(at), '-infinity') - interval '60 s' AS at FROM audit_heads
    ), sealed AS MATERIALIZED (
      SELECT h.tenant_id, e.conversation_id, e.seq
        FROM audit_heads h CROSS JOIN LATERAL unnest(h.conversations, h.seqs) AS e(conversation_id, seq)
       WHERE h.at > (SELECT at FROM last)
    ), recent AS (
      SELECT DISTINCT ON (tenant_id, conversation_id) tenant_id, conversation_id, seq, hash FROM audit
       WHERE at > (SELECT at FROM last) ORDER BY tenant_id, conversation_id, seq DESC
    )
    SELECT tenant_id, conversation_id, seq, hash FROM recent r
     WHERE NOT EXISTS (SELECT FROM sealed s WHERE s.tenant_id = r.tenant_id
                          AND s.conversation_id = r.conversation_id AND s.seq = r.seq)
     ORDER BY tenant_id, conversation_id
""")
_CHANGED = text("""
    SELECT DISTINCT ON (e.conversation_id) e.conversation_id, e.seq, h.at, a.hash IS NULL AS is_missing
      FROM audit_heads h
     CROSS JOIN LATERAL unnest(h.conversations, h.seqs, h.hashes) AS e(conversation_id, seq, hash)
      LEFT JOIN audit a ON a.tenant_id = h.tenant_id AND a.conversation_id = e.conversation_id AND a.seq = e.seq
     WHERE h.tenant_id = :tenant_id AND h.number BETWEEN :first AND :last AND a.hash IS DISTINCT FROM e.hash
       AND e.conversation_id = coalesce(:conversation_id, e.conversation_id)
     ORDER BY e.conversation_id, e.seq
""")


@dataclass(frozen=True, slots=True)
class Head:
    """A tenant's head, in the form that is kept elsewhere to compare with."""

    tenant_id: UUID
    number: int
    at: datetime
    signature: bytes

    def shown(self) -> dict[str, Any]:
        """Return the head in the form that is kept elsewhere: in a log, or a file of anchors."""
        return {
            "tenant_id": str(self.tenant_id),
            "number": self.number,
            "sealed_at": rfc3339(self.at),
            "signature": self.signature.hex(),
        }


class Anchor(NamedTuple):
    """The parts of a head that are kept elsewhere and compared."""

    tenant_id: UUID
    number: int
    signature: bytes


def seal(db: Session, key: bytes) -> list[Head]:
    """Sign the state of all chains with new records; return the new heads."""
    # One writer at a time: each head contains the signature of the one before it.
    db.execute(text("SELECT pg_advisory_xact_lock(hashtext('turnloom.audit_heads'))"))
    at = db.scalars(select(func.clock_timestamp())).one()
    unsealed = db.execute(_UNSEALED)
    return [head for tenant_id, rows in groupby(unsealed, _tenant) for head in _sealed(db, key, tenant_id, at, rows)]


def last_heads(db: Session, tenant_id: UUID | None = None) -> list[Head]:
    """Return the last head of each tenant, or of one."""
    columns = (AuditHeadRow.tenant_id, AuditHeadRow.number, AuditHeadRow.at, AuditHeadRow.signature)
    query = select(*columns).ext(distinct_on(AuditHeadRow.tenant_id))
    if tenant_id is not None:
        query = query.where(AuditHeadRow.tenant_id == tenant_id)
    return [Head(*row) for row in db.execute(query.order_by(AuditHeadRow.tenant_id, AuditHeadRow.number.desc()))]


def verify_heads(
    db: Session, tenant_id: UUID, after: Head | None, key: bytes | None, conversation_id: str | None = None
) -> tuple[list[AuditFault], Head | None]:
    """Verify the page of a tenant's heads after `after`; return the faults and its last head, None if it is empty.

    Faults are also the records of these heads that the chains no longer have, or have in another form; only those of
    `conversation_id` if it is given. Without the key, signatures are not checked.
    """
    number = 0 if after is None else after.number
    query = select(AuditHeadRow).where(AuditHeadRow.tenant_id == tenant_id, AuditHeadRow.number > number)
    rows = db.scalars(query.order_by(AuditHeadRow.number).limit(_PAGE)).all()
    if not rows:
        return [], None
    faults = list(_broken(rows, after, key))
    faults += _changed(db, tenant_id, rows[0].number, rows[-1].number, conversation_id)
    return faults, Head(tenant_id, rows[-1].number, rows[-1].at, rows[-1].signature)


def head_of(db: Session, tenant_id: UUID, conversation_id: str) -> tuple[AuditHeadRow, bytes]:
    """Return the last head that names a conversation, and the signature of the head before it.

    Raises:
        NotFound: none names it.
    """
    query = select(AuditHeadRow).where(
        AuditHeadRow.tenant_id == tenant_id, AuditHeadRow.conversations.contains([conversation_id])
    )
    row = db.scalars(query.order_by(AuditHeadRow.number.desc()).limit(1)).first()
    if row is None:
        raise NotFound(f"no head of the audit log names the conversation {conversation_id!r}")
    before = db.get(AuditHeadRow, (tenant_id, row.number - 1))
    return row, b"" if before is None else before.signature


def entries(row: AuditHeadRow) -> list[bytes]:
    """Return the digests of a head's entries, in order."""
    return [hashlib.sha256(line).digest() for line in _lines(row)]


def sealed_tenants(db: Session) -> list[UUID]:
    """Return the tenants that have a head."""
    return list(db.scalars(select(AuditHeadRow.tenant_id).group_by(AuditHeadRow.tenant_id)))


def compare(db: Session, anchors: Sequence[Anchor]) -> list[AuditFault]:
    """Return the faults of heads that were kept elsewhere and are gone or have changed."""
    faults = []
    for anchor in anchors:
        row = db.get(AuditHeadRow, (anchor.tenant_id, anchor.number))
        if row is None:
            faults.append(AuditFault(anchor.tenant_id, "", anchor.number, "the head of the anchor is missing"))
        elif row.signature != anchor.signature:
            faults.append(AuditFault(anchor.tenant_id, "", anchor.number, "the head differs from the anchor"))
    return faults


def _sealed(db: Session, key: bytes, tenant_id: UUID, at: datetime, rows: Iterator[Any]) -> Iterator[Head]:
    found = last_heads(db, tenant_id)
    number, before = (found[0].number, found[0].signature) if found else (0, b"")
    unsealed = list(rows)
    for first in range(0, len(unsealed), _ENTRIES):
        number += 1
        columns = zip(*(row[1:] for row in unsealed[first : first + _ENTRIES]), strict=True)
        conversations, seqs, hashes = (list(column) for column in columns)
        row = AuditHeadRow(
            tenant_id=tenant_id, number=number, at=at, conversations=conversations, seqs=seqs, hashes=hashes
        )
        before = row.signature = audit_key.sign(key, _signed(row, before))
        db.add(row)
        yield Head(tenant_id, number, at, before)
    db.flush()


def _broken(rows: Sequence[AuditHeadRow], after: Head | None, key: bytes | None) -> Iterator[AuditFault]:
    expected, before = (1, b"") if after is None else (after.number + 1, after.signature)
    for row in rows:
        if row.number != expected:
            yield AuditFault(row.tenant_id, "", expected, "a head is missing")
        if key is not None and not _is_signed(row, before, key):
            yield AuditFault(row.tenant_id, "", row.number, "the head does not match its signature")
        expected, before = row.number + 1, row.signature


def _changed(db: Session, tenant_id: UUID, first: int, last: int, conversation_id: str | None) -> Iterator[AuditFault]:
    given = {"tenant_id": tenant_id, "first": first, "last": last, "conversation_id": conversation_id}
    for row in db.execute(_CHANGED, given):
        what = "the record is missing" if row.is_missing else "the record was rewritten"
        yield AuditFault(tenant_id, row.conversation_id, row.seq, f"{what}: it stood in a head of {rfc3339(row.at)}")


def _is_signed(row: AuditHeadRow, before: bytes, key: bytes) -> bool:
    try:
        if len(row.signature) == _HMAC_BYTES:
            return hmac.compare_digest(_earlier_signature(row, before, key), row.signature)
        return audit_key.is_signed(key, _signed(row, before), row.signature)
    except (AttributeError, TypeError, ValueError):
        return False  # somebody has given the arrays another shape


def _signed(row: AuditHeadRow, before: bytes) -> bytes:
    return _message(row, hashlib.sha256(b"".join(entries(row))).hexdigest(), before)


def _earlier_signature(row: AuditHeadRow, before: bytes, key: bytes) -> bytes:
    message = _message(row, hashlib.sha256(b"\n".join(_lines(row))).hexdigest(), before)
    return hmac.new(key, message, hashlib.sha256).digest()


def _message(row: AuditHeadRow, digest: str, before: bytes) -> bytes:
    return "|".join([str(row.tenant_id), str(row.number), rfc3339(row.at), digest, before.hex()]).encode()


def _lines(row: AuditHeadRow) -> list[bytes]:
    listed = zip(row.conversations, row.seqs, row.hashes, strict=True)
    return [f"{conversation} {seq} {hashed.hex()}".encode() for conversation, seq, hashed in listed]


def _tenant(row: Any) -> UUID:
    tenant_id: UUID = row.tenant_id
    return tenant_id
