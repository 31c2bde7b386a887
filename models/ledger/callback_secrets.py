"""Callback secrets sign what is posted to a tenant's callbacks. They are encrypted, and shown once."""

import base64
import os
from datetime import timedelta
from uuid import UUID

from sqlalchemy import Select, func, or_, select, text, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from turnloom.models.errors import Conflict
from turnloom.models.ledger import tenant_audit
from turnloom.models.runtime import secrets
from turnloom.models.runtime.ids import new_id
from turnloom.models.tables.callbacks import IS_CURRENT, CallbackSecretRow

PREFIX = "whsec_"
_BYTES = 32
_OVERLAP = timedelta(days=1)
"""How long the secret before the newest goes on signing."""


def ensure(db: Session, tenant_id: UUID) -> None:
    """Make a tenant's secret if there is none.

    Raises:
        Unavailable: there is no key to encrypt it with.
    """
    if db.scalar(_newest(tenant_id)) is None:
        _make(db, tenant_id)


def reveal(db: Session, tenant_id: UUID) -> str:
    """Return a tenant's newest secret, for the only time; make it if there is none.

    Raises:
        Conflict: it was shown before.
        Unavailable: there is no key to encrypt it with.
        ToolFailed: CONNECTION_INACTIVE, without the key that encrypted it.
    """
    ensure(db, tenant_id)
    row = db.scalars(_newest(tenant_id).with_for_update()).one()
    if row.shown_at is not None:
        message = f"the secret was shown on {row.shown_at:%d %b %Y}, and is not shown again; `--rotate` makes a new one"
        raise Conflict(message)
    row.shown_at = db.scalars(select(func.clock_timestamp())).one()
    tenant_audit.append(db, tenant_id, "callback_secret.shown", {})
    return _plain(row)


def rotate(db: Session, tenant_id: UUID) -> str:
    """Make a new secret for a tenant and return it. For a day the one before signs, too.

    Raises:
        Unavailable: there is no key to encrypt it with.
    """
    these = CallbackSecretRow.tenant_id == tenant_id, CallbackSecretRow.expires_at.is_(None)
    db.execute(update(CallbackSecretRow).where(*these).values(expires_at=func.clock_timestamp() + _OVERLAP))
    return reveal(db, tenant_id)


def signing(db: Session, tenant_id: UUID) -> list[str]:
    """Return the secrets that sign a tenant's callbacks now, the newest first.

    Raises:
        ToolFailed: CONNECTION_INACTIVE, without the key that encrypted one of them.
    """
    is_valid = or_(CallbackSecretRow.expires_at.is_(None), CallbackSecretRow.expires_at > func.clock_timestamp())
    query = select(CallbackSecretRow).where(CallbackSecretRow.tenant_id == tenant_id, is_valid)
    return [_plain(row) for row in db.scalars(query.order_by(CallbackSecretRow.created_at.desc()))]


def _newest(tenant_id: UUID) -> Select[CallbackSecretRow]:
    return select(CallbackSecretRow).where(
        CallbackSecretRow.tenant_id == tenant_id, CallbackSecretRow.expires_at.is_(None)
    )


def _make(db: Session, tenant_id: UUID) -> None:
    plain = PREFIX + base64.b64encode(os.urandom(_BYTES)).decode()
    new = insert(CallbackSecretRow).values(
        tenant_id=tenant_id, id=new_id(), secret=secrets.seal({"secret": plain}), key_id=secrets.key_ids()[0]
    )
    # Another process may make one at the same moment: the first counts.
    made = new.on_conflict_do_nothing(index_elements=["tenant_id"], index_where=text(IS_CURRENT))
    if db.scalar(made.returning(CallbackSecretRow.id)) is not None:
        tenant_audit.append(db, tenant_id, "callback_secret.created", {})


def _plain(row: CallbackSecretRow) -> str:
    assert row.secret is not None
    return str(secrets.unseal(row.secret)["secret"])
