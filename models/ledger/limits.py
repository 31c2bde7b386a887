"""The limits of tenants: the settings of the process, and what a tenant has of its own instead."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb
from pydantic import ValidationError
from sqlalchemy import select
from sqlalchemy.orm import Session

from turnloom.models.contracts.limits import Limits
from turnloom.models.errors import Invalid
from turnloom.models.ledger import tenant_audit, tenants
from turnloom.models.runtime.settings import settings
from turnloom.models.runtime.value_faults import faults_of
from turnloom.models.tables.tenants import TenantRow


def of_deployment() -> Limits:
    """Return the limits of a tenant that has none of its own."""
    its = settings()
    return Limits(
        backlog=its.tenant_backlog_limit,
        user_backlog=its.user_backlog_limit,
        window=its.tenant_window,
        user_window=its.user_window,
        batch_window=its.batch_window,
        burst_window_ms=its.burst_window_ms,
        rate=its.tenant_rate,
        user_rate=its.user_rate,
        key_rate=its.key_rate,
        account_rate=its.account_rate,
    )


def of(db: Session, tenant_id: UUID) -> Limits:
    """Return the limits of a tenant."""
    return _with(own(db, tenant_id))


def own(db: Session, tenant_id: UUID) -> dict[str, Any]:
    """Return those limits that a tenant has of its own: the fields of `Limits` that differ from the deployment's."""
    found: dict[str, Any] = db.scalars(select(TenantRow.limits).where(TenantRow.id == tenant_id)).one()
    return found


def change(db: Session, name: str, changed: Mapping[str, Any]) -> dict[str, Any]:
    """Give a tenant these limits of its own, from its next message on; return all of its own.

    None takes no limit at all, which is possible for rates. `...` takes the deployment's again.

    Raises:
        Invalid: a limit is out of its range.
        NotFound: there is no such tenant.
    """
    tenant = tenants.find(db, name)
    after = {limit: value for limit, value in {**tenant.limits, **changed}.items() if value is not ...}
    _with(after)
    tenant.limits = after
    tenant_audit.append(db, tenant.id, "limits.set", {"limits": after})
    return after


def windows() -> Jsonb:
    """Return the deployment's limits that the ledger's functions respect; they read the tenant's own themselves."""
    return Jsonb(of_deployment().model_dump(include={"window", "user_window", "batch_window"}))


def _with(its_own: Mapping[str, Any]) -> Limits:
    try:
        return Limits.model_validate({**of_deployment().model_dump(), **its_own})
    except ValidationError as error:
        raise Invalid(faults_of(error)) from None
