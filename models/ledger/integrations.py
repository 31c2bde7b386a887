"""A user's integrations are the scopes that they granted to tools, and their accounts with outside services."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast
from uuid import UUID

from sqlalchemy import delete, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from turnloom.models.contracts.users import AccountRequest, AccountStatus
from turnloom.models.errors import NotFound, ToolFailed
from turnloom.models.ledger import tenant_audit
from turnloom.models.ledger.users import get_user
from turnloom.models.runtime import secrets
from turnloom.models.runtime.ids import new_id
from turnloom.models.tables.callbacks import CallbackSecretRow
from turnloom.models.tables.channels import ChannelAccountRow
from turnloom.models.tables.integrations import AccountRow
from turnloom.models.tables.users import UserRow

SealedRow = AccountRow | CallbackSecretRow | ChannelAccountRow

SEALED: tuple[type[SealedRow], ...] = (AccountRow, CallbackSecretRow, ChannelAccountRow)
"""The tables that hold secrets."""

_ROTATED_AT_ONCE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A user's account with an outside service."""

    id: UUID
    integration: str
    status: AccountStatus
    settings: Mapping[str, Any]
    """Settings that are not secret, such as the address of the server."""
    sealed: bytes | None = field(repr=False)
    """The secret, encrypted."""
    updated_at: datetime
    """When the user connected it last."""

    @property
    def secret(self) -> Mapping[str, Any] | None:
        """Tokens and passwords, decrypted at each use; None if there are none.

        Raises:
            ToolFailed: CONNECTION_INACTIVE, without the key that encrypted them.
        """
        return None if self.sealed is None else secrets.unseal(self.sealed)


@dataclass(frozen=True, slots=True, kw_only=True)
class UserAccess:
    """A user's permissions and accounts, as tools see them."""

    scopes: frozenset[str]
    accounts: Mapping[str, Account]
    """Integration -> account."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rotated:
    """The progress of encrypting secrets with a new key."""

    last: UUID | None
    """The last row that was checked; None: there are no more."""
    done: int
    unreadable: list[UUID]
    """Rows whose secret none of the keys can decrypt: it must be given or made again."""


NO_ACCESS = UserAccess(scopes=frozenset(), accounts={})
"""The access of users who are not in the directory."""


def access_of(db: Session, tenant_id: UUID, user_id: str) -> UserAccess:
    """Return what a user allows tools to do; nothing if the tenant has no such user."""
    return access_by_user(db, tenant_id, [user_id])[user_id]


def access_by_user(db: Session, tenant_id: UUID, user_ids: Sequence[str]) -> dict[str, UserAccess]:
    """Return what some users allow tools to do, read together."""
    query = (
        select(UserRow.id, UserRow.scopes, AccountRow)
        .outerjoin(AccountRow, (AccountRow.tenant_id == UserRow.tenant_id) & (AccountRow.user_id == UserRow.id))
        .where(UserRow.tenant_id == tenant_id, UserRow.id.in_(user_ids))
        .execution_options(populate_existing=True)
    )
    scopes: dict[str, frozenset[str]] = {}
    accounts: dict[str, dict[str, Account]] = {user_id: {} for user_id in user_ids}
    for user_id, granted, row in db.execute(query):
        scopes[user_id] = frozenset(granted)
        accounts[user_id] |= {} if row is None else {row.integration: _account(row)}
    found = {user_id: UserAccess(scopes=scopes[user_id], accounts=accounts[user_id]) for user_id in scopes}
    return {user_id: found.get(user_id, NO_ACCESS) for user_id in user_ids}


def accounts_of(db: Session, tenant_id: UUID, user_id: str) -> list[Account]:
    """Return a user's accounts, by integration."""
    return accounts_by_user(db, tenant_id, [user_id])[user_id]


def accounts_by_user(db: Session, tenant_id: UUID, user_ids: Sequence[str]) -> dict[str, list[Account]]:
    """Return the accounts of some users, by integration."""
    query = select(AccountRow).where(AccountRow.tenant_id == tenant_id, AccountRow.user_id.in_(user_ids))
    found: dict[str, list[Account]] = {user_id: [] for user_id in user_ids}
    for row in db.scalars(query.order_by(AccountRow.integration)):
        found[row.user_id].append(_account(row))
    return found


def put_account(db: Session, tenant_id: UUID, user_id: str, integration: str, request: AccountRequest) -> Account:
    """Connect a user's account. It replaces the earlier one and keeps its id.

    Raises:
        NotFound: the tenant has no such user.
        Unavailable: there is a secret to store, but no key to encrypt it with.
    """
    get_user(db, tenant_id, user_id)
    sealed = None if request.secret is None else secrets.seal(request.secret)
    values = {
        "status": request.status,
        "settings": request.settings,
        "secret": sealed,
        "key_id": None if sealed is None else secrets.key_ids()[0],
        "updated_at": func.clock_timestamp(),
    }
    new = insert(AccountRow).values(
        tenant_id=tenant_id, id=new_id(), user_id=user_id, integration=integration, **values
    )
    key = [AccountRow.tenant_id, AccountRow.user_id, AccountRow.integration]
    put = new.on_conflict_do_update(index_elements=key, set_=values).returning(AccountRow)
    row = db.scalars(put, execution_options={"populate_existing": True}).one()
    _audit(db, tenant_id, user_id, integration, request.status)
    return _account(row)


def remove_account(db: Session, tenant_id: UUID, user_id: str, integration: str) -> None:
    """Delete a user's account and its secret.

    Raises:
        NotFound: they have no account with this integration.
    """
    these = (AccountRow.tenant_id == tenant_id, AccountRow.user_id == user_id, AccountRow.integration == integration)
    if db.scalar(delete(AccountRow).where(*these).returning(AccountRow.id)) is None:
        raise NotFound(f"user {user_id!r} has no account with {integration!r}")
    _audit(db, tenant_id, user_id, integration, None)


def needs_reauth(db: Session, tenant_id: UUID, account_id: UUID, connected_at: datetime) -> None:
    """Record that the service refuses an account's secret, unless the user has connected it again meanwhile."""
    db.execute(
        update(AccountRow)
        .where(AccountRow.tenant_id == tenant_id, AccountRow.id == account_id)
        .where(AccountRow.updated_at == connected_at)
        .values(status="reauth_required")
    )


def rotate(db: Session, after: UUID, table: type[SealedRow] = AccountRow) -> Rotated:
    """Encrypt some secrets of a table again with the first key: those after `after` that another key encrypted.

    Raises:
        Unavailable: there is no key.
    """
    current = secrets.key_ids()[0]
    query = select(table).where(table.key_id != current, table.id > after).order_by(table.id)
    # Locked, so that a secret that its user replaces at this moment is not overwritten.
    found = db.scalars(query.limit(_ROTATED_AT_ONCE).with_for_update())
    rows = cast("Sequence[SealedRow]", found.all())  # mypy takes the tables for their common base
    unreadable = [row.id for row in rows if not _sealed_anew(row, current)]
    return Rotated(last=rows[-1].id if rows else None, done=len(rows) - len(unreadable), unreadable=unreadable)


def unreadable(db: Session) -> int:
    """Return how many secrets none of the keys can decrypt.

    Raises:
        Unavailable: there is no key.
    """
    known = secrets.key_ids()
    counts = (select(func.count()).select_from(table).where(table.key_id.not_in(known)) for table in SEALED)
    return sum(db.scalars(query).one() for query in counts)


def _audit(db: Session, tenant_id: UUID, user_id: str, integration: str, status: AccountStatus | None) -> None:
    content = {"user_sha256": tenant_audit.user_digest(tenant_id, user_id), "integration": integration}
    if status is None:
        tenant_audit.append(db, tenant_id, "account.removed", content)
    else:
        tenant_audit.append(db, tenant_id, "account.set", {**content, "status": status})


def _sealed_anew(row: SealedRow, key_id: str) -> bool:
    assert row.secret is not None, "a key's id stands beside a secret only"
    try:
        row.secret, row.key_id = secrets.seal(secrets.unseal(row.secret)), key_id
    except ToolFailed:
        return False
    return True


def _account(row: AccountRow) -> Account:
    return Account(
        id=row.id,
        integration=row.integration,
        status=row.status,  # type: ignore[arg-type]  # only those are written
        settings=row.settings,
        sealed=row.secret,
        updated_at=row.updated_at,
    )
