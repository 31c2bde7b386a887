"""What is done to a tenant and belongs to no conversation is recorded in an audit chain of the tenant's own."""

import hashlib
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb
from sqlalchemy.orm import Session

from turnloom.models.ledger.transitions import call
from turnloom.models.runtime.operators import Operator, operator

CHAIN = ""
"""The place of the conversation's id in these records."""


def append(db: Session, tenant_id: UUID, kind: str, content: dict[str, Any], by: Operator | None = None) -> None:
    """Record what is done in this transaction, and who does it: `by`, else who acts now.

    Secrets are no content, and users are named by `user_digest`: these records stay when a user is erased.
    """
    who = by or operator()
    call(db, "append_tenant_audit", tenant=tenant_id, kind=kind, content=Jsonb(content), key=who.key_id, by=who.name)


def user_digest(tenant_id: UUID, user_id: str) -> str:
    """Return SHA-256 over the tenant's id, `|` and the user's."""
    return hashlib.sha256(f"{tenant_id}|{user_id}".encode()).hexdigest()
