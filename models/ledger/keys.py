"""Keys to the API are made, recognised and revoked here. Only a key's SHA-256 digest is stored, never the key."""

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from sqlalchemy import exists, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from turnloom.models.contracts.scope import SCOPES
from turnloom.models.errors import NotFound
from turnloom.models.ledger import tenant_audit, tenants
from turnloom.models.runtime.ids import new_id
from turnloom.models.tables.tenants import KeyRow

DEVELOPMENT_TENANT = "development"
_NOTED_EVERY = timedelta(minutes=1)
IS_VALID = KeyRow.revoked_at.is_(None) & (KeyRow.expires_at.is_(None) | (KeyRow.expires_at > func.clock_timestamp()))


@dataclass(frozen=True)
class Caller:
    """The tenant and the rights behind a key."""

    tenant_id: UUID
    key_id: UUID
    scopes: frozenset[str]
    is_development: bool


def create(
    db: Session, tenant_id: UUID, name: str, scopes: Sequence[str], lasts: timedelta | None = None
) -> tuple[UUID, str]:
    """Make a key, which `lasts` so long; return its id and the key, which cannot be shown again."""
    plain = "tl_" + secrets.token_urlsafe(32)
    key_id = new_id()
    row = KeyRow(id=key_id, tenant_id=tenant_id, name=name, digest=digest(plain), scopes=list(scopes))
    db.add(row)
    db.flush()
    if lasts is not None:
        row.expires_at = row.created_at + lasts
    tenant_audit.append(db, tenant_id, "key.created", {"key": str(key_id), "name": name, "scopes": list(scopes)})
    return key_id, plain


def rotate(db: Session, key_id: UUID, overlap: timedelta) -> tuple[UUID, str]:
    """Make another key with the name, the scopes and the lifetime of this one, which still works for the overlap.

    Raises:
        NotFound: there is no such key, or it has been revoked or has expired.
    """
    old = db.scalar(select(KeyRow).where(KeyRow.id == key_id, IS_VALID).with_for_update())
    if old is None:
        raise NotFound(f"there is no valid key with the id {key_id}")
    lasts = old.expires_at - old.created_at if old.expires_at else None
    made = create(db, old.tenant_id, old.name, old.scopes, lasts)
    old.expires_at = func.least(KeyRow.expires_at, func.clock_timestamp() + overlap)
    db.flush()
    replaced = {"key": str(made[0]), "replaces": str(key_id), "overlap_s": int(overlap.total_seconds())}
    tenant_audit.append(db, old.tenant_id, "key.rotated", replaced)
    return made


def ensure_dev_key(db: Session, plain: str) -> None:
    """Make this the embedded stack's development key: it has all scopes, and no rate or backlog limit."""
    tenant_id = tenants.ensure(db, DEVELOPMENT_TENANT)
    row = {
        "id": new_id(),
        "tenant_id": tenant_id,
        "name": "development",
        "digest": digest(plain),
        "scopes": list(SCOPES),
        "development": True,
    }
    revived = {"scopes": list(SCOPES), "revoked_at": None}
    is_there = exists().where(KeyRow.digest == row["digest"], KeyRow.revoked_at.is_(None))
    if not db.scalar(select(is_there)):
        tenant_audit.append(db, tenant_id, "key.created", {"name": row["name"], "scopes": list(SCOPES)})
    db.execute(insert(KeyRow).values(row).on_conflict_do_update(index_elements=["digest"], set_=revived))


def recognise(db: Session, of: bytes) -> Caller | None:
    """Return the caller of the key with this digest, and note that it was used; None if it is unknown, revoked or over.

    The note is a minute old at most, so that a busy key does not become a row that everybody waits for.
    """
    row = db.scalar(select(KeyRow).where(KeyRow.digest == of, IS_VALID))
    if row is None:
        return None
    is_due = KeyRow.last_used_at.is_(None) | (KeyRow.last_used_at <= func.clock_timestamp() - _NOTED_EVERY)
    noted = update(KeyRow).where(KeyRow.id == row.id, is_due)
    db.execute(noted.values(last_used_at=func.clock_timestamp()).execution_options(synchronize_session=False))
    return caller_of(row)


def caller_of(row: KeyRow) -> Caller:
    """Return the tenant and the rights behind a key."""
    return Caller(row.tenant_id, row.id, frozenset(row.scopes), row.development)


def of_tenant(db: Session, tenant_id: UUID) -> list[KeyRow]:
    """Return a tenant's keys, oldest first."""
    return list(db.scalars(select(KeyRow).where(KeyRow.tenant_id == tenant_id).order_by(KeyRow.created_at, KeyRow.id)))


def revoke(db: Session, key_id: UUID) -> None:
    """Revoke a key from now on.

    Raises:
        NotFound: there is no such key, or it was revoked before.
    """
    query = update(KeyRow).where(KeyRow.id == key_id, KeyRow.revoked_at.is_(None))
    tenant_id = db.scalar(query.values(revoked_at=func.clock_timestamp()).returning(KeyRow.tenant_id))
    if tenant_id is None:
        raise NotFound(f"there is no valid key with the id {key_id}")
    tenant_audit.append(db, tenant_id, "key.revoked", {"key": str(key_id)})


def digest(plain: str) -> bytes:
    """Return the stored digest of a key. A random 256-bit key needs no salt and no slow hash."""
    return hashlib.sha256(plain.encode("utf-8", "surrogatepass")).digest()
