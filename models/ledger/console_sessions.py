"""Console sessions are opened, recognised and closed here. A session is worth no more than its key, at any moment."""

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from turnloom.models.ledger import keys
from turnloom.models.ledger.keys import Caller
from turnloom.models.tables.console_sessions import ConsoleSessionRow
from turnloom.models.tables.tenants import KeyRow, TenantRow

LASTS = timedelta(hours=12)
"""The time after which somebody has to sign in again."""


@dataclass(frozen=True)
class ConsoleSession:
    """A session that has not ended, and whose it is."""

    caller: Caller
    tenant: str
    """The tenant's name."""
    expires_at: datetime


def open_session(db: Session, key_digest: bytes) -> tuple[str, ConsoleSession] | None:
    """Sign somebody in with a key; return the session's token, which cannot be shown again. None: no such key works.

    Sessions that have ended are removed: there are never more than people sign in within their time.
    """
    caller = keys.recognise(db, key_digest)
    if caller is None:
        return None
    db.execute(delete(ConsoleSessionRow).where(ConsoleSessionRow.expires_at <= func.clock_timestamp()))
    token = secrets.token_urlsafe(32)
    ends = db.scalar(
        select(func.least(func.clock_timestamp() + LASTS, KeyRow.expires_at)).where(KeyRow.id == caller.key_id)
    )
    assert ends is not None
    db.add(
        ConsoleSessionRow(digest=keys.digest(token), tenant_id=caller.tenant_id, key_id=caller.key_id, expires_at=ends)
    )
    db.flush()
    tenant = db.scalars(select(TenantRow.name).where(TenantRow.id == caller.tenant_id)).one()
    return token, ConsoleSession(caller, tenant, ends)


def recognise(db: Session, token: str) -> ConsoleSession | None:
    """Return the session of a token; None if there is none, it has ended, or its key works no more."""
    query = (
        select(KeyRow, TenantRow.name, ConsoleSessionRow.expires_at)
        .join(ConsoleSessionRow, ConsoleSessionRow.key_id == KeyRow.id)
        .join(TenantRow, TenantRow.id == KeyRow.tenant_id)
        .where(ConsoleSessionRow.digest == keys.digest(token))
        .where(ConsoleSessionRow.expires_at > func.clock_timestamp(), keys.IS_VALID)
    )
    found = db.execute(query).first()
    if found is None:
        return None
    key, tenant, expires_at = found
    return ConsoleSession(keys.caller_of(key), tenant, expires_at)


def close_session(db: Session, token: str) -> None:
    """Sign somebody out, if they are signed in."""
    db.execute(delete(ConsoleSessionRow).where(ConsoleSessionRow.digest == keys.digest(token)))
