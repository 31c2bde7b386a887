"""Overrides are a tenant's own prompts and agents, in an append-only log: the newest entry of each name counts."""

import hashlib
from uuid import UUID

import psycopg
from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session

from turnloom.models.errors import NotFound
from turnloom.models.ledger import tenant_audit
from turnloom.models.runtime.operators import operator
from turnloom.models.tables.overrides import OverrideRow
from turnloom.models.tables.tenants import TenantRow


def write(db: Session, tenant_id: UUID, name: str, text: str | None, by: str) -> int:
    """Add a text, or its removal if it is None; return the new version of the tenant's overrides."""
    # One writer at a time, so that a reader who sees a version sees all earlier ones.
    db.execute(select(TenantRow.id).where(TenantRow.id == tenant_id).with_for_update(key_share=True))
    last = db.scalar(select(func.max(OverrideRow.version)).where(OverrideRow.tenant_id == tenant_id))
    version = (last or 0) + 1
    db.add(OverrideRow(tenant_id=tenant_id, version=version, name=name, text=text, created_by=by))
    db.flush()
    digest = None if text is None else hashlib.sha256(text.encode()).hexdigest()
    kind = "override.removed" if text is None else "override.set"
    told = {"name": name, "version": version, "text_sha256": digest}
    tenant_audit.append(db, tenant_id, kind, told, operator(by))
    return version


def stand(db: psycopg.Connection, tenant_id: UUID) -> tuple[str, int, list[UUID]]:
    """Return a tenant's name, its number of changes and its running rollouts, a cheap way to detect a change."""
    row = db.execute(
        "SELECT t.name, (SELECT coalesce(max(o.version), 0) FROM overrides o WHERE o.tenant_id = t.id),"
        " array(SELECT r.id FROM rollouts r WHERE r.tenant_id = t.id AND r.ended_at IS NULL ORDER BY r.id)"
        " FROM tenants t WHERE t.id = %s",
        (tenant_id,),
        prepare=True,
    ).fetchone()
    return row or ("", 0, [])


def active(db: Session, tenant_id: UUID) -> dict[str, str]:
    """Return the texts in effect, by name."""
    return {row.name: row.text for row in newest(db, tenant_id) if row.text is not None}


def newest(db: Session, tenant_id: UUID) -> list[OverrideRow]:
    """Return the last change of each name."""
    query = (
        select(OverrideRow)
        .where(OverrideRow.tenant_id == tenant_id)
        .ext(distinct_on(OverrideRow.name))
        .order_by(OverrideRow.name, OverrideRow.version.desc())
    )
    return list(db.scalars(query))


def history(db: Session, tenant_id: UUID, name: str) -> list[OverrideRow]:
    """Return the changes of a name, newest first."""
    query = select(OverrideRow).where(OverrideRow.tenant_id == tenant_id, OverrideRow.name == name)
    return list(db.scalars(query.order_by(OverrideRow.version.desc())))


def at_version(db: Session, tenant_id: UUID, name: str, version: int) -> OverrideRow:
    """Return the text that a version set.

    Raises:
        NotFound: that version changed something else, removed a text, or is not there.
    """
    row = db.get(OverrideRow, (tenant_id, version))
    if row is None or row.name != name or row.text is None:
        raise NotFound(f"version {version} of the tenant's overrides has no text of {name!r}")
    return row
