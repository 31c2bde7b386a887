"""Tenants are created, found and given budgets here."""

from uuid import UUID

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from turnloom.models.contracts.usage import Budget
from turnloom.models.errors import Conflict, NotFound
from turnloom.models.ledger import tenant_audit
from turnloom.models.runtime.ids import new_id
from turnloom.models.tables.tenants import TenantRow


def create(db: Session, name: str) -> UUID:
    """Create a tenant.

    Raises:
        Conflict: the name is taken.
    """
    made = _made(db, name)
    if made is None:
        raise Conflict(f"there is a tenant named {name!r} already")
    return made


def ensure(db: Session, name: str) -> UUID:
    """Return the tenant of that name; create it if it does not exist."""
    return _made(db, name) or find(db, name).id


def find(db: Session, name: str) -> TenantRow:
    """Return the tenant of that name.

    Raises:
        NotFound: there is none.
    """
    row = db.scalar(select(TenantRow).where(TenantRow.name == name))
    if row is None:
        raise NotFound(f"there is no tenant {name!r}; `turnloom tenant list` shows those there are")
    return row


def budget_of(db: Session, tenant_id: UUID) -> Budget:
    """Return the budget of a tenant's turns."""
    return Budget.model_validate(db.scalars(select(TenantRow.budget).where(TenantRow.id == tenant_id)).one())


def set_budget(db: Session, name: str, budget: Budget) -> None:
    """Set the budget of a tenant's turns, from their next claim on.

    Raises:
        NotFound: there is no such tenant.
    """
    tenant = find(db, name)
    tenant.budget = budget.model_dump(exclude_none=True)
    tenant_audit.append(db, tenant.id, "budget.set", {"budget": budget.model_dump(mode="json", exclude_none=True)})


def listed(db: Session) -> list[TenantRow]:
    """Return all tenants by name."""
    return list(db.scalars(select(TenantRow).order_by(TenantRow.name)))


def _made(db: Session, name: str) -> UUID | None:
    """Create a tenant. None: the name is taken."""
    query = insert(TenantRow).values(id=new_id(), name=name).on_conflict_do_nothing().returning(TenantRow.id)
    made: UUID | None = db.scalar(query)
    if made is not None:
        tenant_audit.append(db, made, "tenant.created", {"name": name})
    return made
