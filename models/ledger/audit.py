"""The audit log can be read, and its chains verified: one of each conversation, and one of each tenant.

A record's hash is SHA-256 over its fields joined with `|`: tenant, conversation, seq, turn, kind, time (RFC 3339, UTC,
microseconds), digest and the previous hash, both in hex. The first record's previous hash is empty. The digest is
SHA-256 over the content as Postgres writes jsonb, so the chain stays verifiable after the content is erased. The
conversation of a tenant's own records is the empty text. A content may be missing only if a later record
`conversation.erased` says so: the `through` in its content is the last record erased.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple
from uuid import UUID

import orjson
from sqlalchemy import Select, Text, cast, literal, select, tuple_, union
from sqlalchemy.orm import Session

from turnloom.models.contracts.base import rfc3339
from turnloom.models.ledger.tenant_audit import CHAIN
from turnloom.models.tables.audit import AuditRow
from turnloom.models.tables.conversations import ConversationRow
from turnloom.models.tables.tenants import TenantRow

ERASED = "conversation.erased"

_AT_ONCE = 1_000


class Chain(NamedTuple):
    """The audit records of a conversation; those of the tenant itself if its id is empty."""

    tenant_id: UUID
    conversation_id: str


class Scope(NamedTuple):
    """A selection of audit chains: those of one tenant, those of one conversation id, or all if neither is given."""

    tenant_id: UUID | None = None
    conversation_id: str | None = None


@dataclass(frozen=True)
class AuditFault:
    """A record that is not as it was written. If the conversation is empty: one of the tenant's own, or a head."""

    tenant_id: UUID
    conversation_id: str
    seq: int
    message: str


def page(db: Session, tenant_id: UUID, conversation_id: str, after_seq: int, limit: int) -> list[AuditRow]:
    """Return a page of a conversation's audit records, or of the tenant's own if its id is empty, oldest first."""
    query = select(AuditRow).where(AuditRow.tenant_id == tenant_id, AuditRow.conversation_id == conversation_id)
    return list(db.scalars(query.where(AuditRow.seq > after_seq).order_by(AuditRow.seq).limit(limit)))


def chains(db: Session, scope: Scope, after: Chain | None, limit: int) -> list[Chain]:
    """Return, in order, a page of the chains that there are or should be."""
    records = _in_scope(select(AuditRow.tenant_id, AuditRow.conversation_id).distinct(), scope, after, limit)
    themselves = _in_scope(select(ConversationRow.tenant_id, ConversationRow.id), scope, after, limit)
    tenants = select(TenantRow.id, literal(CHAIN, Text).label("conversation_id")).where(TenantRow.audit_seq > 0)
    listed = union(records, themselves, _in_scope(tenants, scope, after, limit)).subquery()
    return [Chain(*row) for row in db.execute(select(*listed.c).order_by(*listed.c).limit(limit))]


def verify(db: Session, tenant_id: UUID, conversation_id: str) -> list[AuditFault]:
    """Return the changed, missing and reordered records of a conversation's chain; empty if there are none."""
    return list(verify_chains(db, [Chain(tenant_id, conversation_id)]))


def verify_chains(db: Session, chains: Sequence[Chain]) -> Iterator[AuditFault]:
    """Yield the changed, missing and reordered records of chains, which come in order."""
    heads = _heads(db, chains)
    groups = groupby(records(db, chains), _chain_of)
    found = next(groups, None)
    for chain in chains:
        if found is None or found[0] != chain:
            yield from _faults(chain, (), heads.get(chain))
        else:
            yield from _faults(chain, found[1], heads.get(chain))
            found = next(groups, None)


def records(db: Session, chains: Sequence[Chain]) -> Iterator[Any]:
    """Yield the records of chains in order, with the content as text. Reads in pages: a chain may be long."""
    where, place = tuple_(AuditRow.tenant_id, AuditRow.conversation_id), tuple_(*AuditRow.__table__.primary_key)
    columns = [column for column in AuditRow.__table__.columns if column.name != "content"]
    query = select(*columns, cast(AuditRow.content, Text).label("content")).where(where.in_(chains))
    query = query.order_by(AuditRow.tenant_id, AuditRow.conversation_id, AuditRow.seq).limit(_AT_ONCE)
    rows = db.execute(query).all()
    while rows:
        yield from rows
        after = tuple_(*_chain_of(rows[-1]), rows[-1].seq)
        rows = db.execute(query.where(place > after)).all() if len(rows) == _AT_ONCE else []


def _chain_of(row: Any) -> Chain:
    return Chain(row.tenant_id, row.conversation_id)


def _in_scope(query: Select[UUID, str], scope: Scope, after: Chain | None, limit: int) -> Select[UUID, str]:
    tenant, conversation = query.selected_columns
    if after is not None:
        query = query.where(tuple_(tenant, conversation) > tuple_(*after))
    if scope.tenant_id is not None:
        query = query.where(tenant == scope.tenant_id)
    if scope.conversation_id is not None:
        query = query.where(conversation == scope.conversation_id)
    return query.order_by(tenant, conversation).limit(limit)


def _heads(db: Session, chains: Sequence[Chain]) -> dict[Chain, tuple[int, bytes]]:
    """Return the end of each chain as the row of its conversation or tenant states it."""
    key = (ConversationRow.tenant_id, ConversationRow.id)
    query = select(*key, ConversationRow.audit_seq, ConversationRow.audit_hash).where(tuple_(*key).in_(chains))
    ends = {Chain(tenant_id, name): (seq, hashed) for tenant_id, name, seq, hashed in db.execute(query)}
    tenants = [chain.tenant_id for chain in chains if chain.conversation_id == CHAIN]
    own = select(TenantRow.id, TenantRow.audit_seq, TenantRow.audit_hash).where(TenantRow.id.in_(tenants))
    return ends | {Chain(tenant_id, CHAIN): (seq, hashed) for tenant_id, seq, hashed in db.execute(own)}


def _faults(chain: Chain, rows: Iterable[Any], head: tuple[int, bytes] | None) -> Iterator[AuditFault]:
    own = "" if chain.conversation_id else "the tenant's own records: "
    return (AuditFault(*chain, seq, own + message) for seq, message in _broken(rows, head))


def _broken(rows: Iterable[Any], head: tuple[int, bytes] | None) -> Iterator[tuple[int, str]]:
    expected, before, bare = 1, b"", list[int]()
    for row in rows:
        yield from _wrong(row, expected, before)
        if row.content is None:
            bare.append(row.seq)
        elif row.kind == ERASED:
            bare = [seq for seq in bare if seq > _through(row.content)]
        expected, before = row.seq + 1, row.hash
    for seq in bare:
        yield seq, "the content is gone, and no record says that it was erased"
    if head is None:
        yield expected, "the conversation itself is missing"
    elif head != (expected - 1, before):
        yield expected, "records are missing at the end"


def _through(content: str) -> int:
    """Return the number of the last record whose content an erasure removed; 0 if its record does not say."""
    value = orjson.loads(content)
    through = value.get("through") if isinstance(value, dict) else None
    return through if isinstance(through, int) else 0


def _wrong(row: Any, expected: int, before: bytes) -> Iterator[tuple[int, str]]:
    if row.seq != expected:
        yield expected, f"record {expected} is missing"
    if row.content is not None and hashlib.sha256(row.content.encode()).digest() != row.digest:
        yield row.seq, "the content was changed"
    if _hash(row, before) != row.hash:
        yield row.seq, "the record does not follow from the one before it"


def _hash(row: Any, before: bytes) -> bytes:
    at = rfc3339(row.at)
    # Postgres' concat_ws leaves out a null, so a record without a turn has one field less.
    fields = [row.tenant_id, row.conversation_id, row.seq, row.turn_id, row.kind, at, row.digest.hex(), before.hex()]
    return hashlib.sha256("|".join(str(field) for field in fields if field is not None).encode()).digest()
