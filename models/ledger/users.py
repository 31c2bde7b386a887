"""The directory holds users and who knows whom, and finds the user whom somebody means by a name."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, case, collate, delete, or_, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from turnloom.models.contracts.users import ConnectionStatus, Profile
from turnloom.models.errors import Invalid, NotFound
from turnloom.models.ledger import tenant_audit
from turnloom.models.ledger.tenant_audit import user_digest
from turnloom.models.runtime.ids import new_id
from turnloom.models.tables.notifications import NotificationRow
from turnloom.models.tables.users import ConnectionRow, UserRow

_FIELDS = ("name", "email", "timezone", "locale", "working_hours", "scopes")
_ADDRESS = re.compile(r"(?<![^\s<>()\[\],;:\"])[^\s<>()\[\],;:\"@]+@[^\s<>()\[\],;:\"]+")
_WORD = re.compile(r"[^\s,;()<>\"]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectoryUser:
    """A user of a tenant's directory."""

    id: str
    name: str
    email: str | None
    timezone: str
    locale: str
    working_hours: Mapping[str, Sequence[str]]
    """Weekday (`mon` …) -> [start, end] as HH:MM in the user's time zone."""
    scopes: frozenset[str]
    """What the user allows tools to do for them."""
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class UserConnection:
    """Two users who know each other."""

    id: UUID
    users: tuple[str, str]
    """Their ids, in order."""
    is_active: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Contact:
    """A user whom another user knows."""

    user: DirectoryUser
    connection_id: UUID
    is_active: bool


def remove_user(db: Session, tenant_id: UUID, user_id: str) -> bool:
    """Remove a user with accounts, connections, calendar and notifications. False: there is no such user."""
    db.execute(
        delete(NotificationRow).where(NotificationRow.tenant_id == tenant_id, NotificationRow.user_id == user_id)
    )
    gone = delete(UserRow).where(UserRow.tenant_id == tenant_id, UserRow.id == user_id).returning(UserRow.id)
    if db.scalar(gone) is None:
        return False
    _audit(db, tenant_id, "user.removed", user_id)
    return True


def put_user(db: Session, tenant_id: UUID, user_id: str, profile: Profile) -> None:
    """Add a user, or replace the one with that id."""
    values = {name: getattr(profile, name) for name in _FIELDS} | {"scopes": sorted(set(profile.scopes))}
    new = insert(UserRow).values(tenant_id=tenant_id, id=user_id, **values)
    db.execute(new.on_conflict_do_update(index_elements=[UserRow.tenant_id, UserRow.id], set_=values))
    _audit(db, tenant_id, "user.set", user_id, scopes=values["scopes"])


def find_user(db: Session, tenant_id: UUID, user_id: str) -> DirectoryUser | None:
    """Return a user; None if the tenant has no user with that id."""
    row = db.scalar(_of(tenant_id, user_id))
    return None if row is None else _user(row)


def get_user(db: Session, tenant_id: UUID, user_id: str) -> DirectoryUser:
    """Return a user.

    Raises:
        NotFound: the tenant has none of that id.
    """
    found = find_user(db, tenant_id, user_id)
    if found is None:
        raise NotFound(f"there is no user {user_id!r}")
    return found


def listed(db: Session, tenant_id: UUID, after: str, limit: int) -> list[DirectoryUser]:
    """Return users by id, those after `after`; the empty text comes before all."""
    place = collate(UserRow.id, "C")
    query = select(UserRow).where(UserRow.tenant_id == tenant_id, place > after).order_by(place).limit(limit)
    return [_user(row) for row in db.scalars(query)]


def grant(db: Session, tenant_id: UUID, user_id: str, scopes: Iterable[str]) -> list[str]:
    """Add scopes to those that a user grants; return all of them.

    Raises:
        NotFound: the tenant has no such user.
    """
    return _regrant(db, tenant_id, user_id, lambda held: held | set(scopes))


def revoke(db: Session, tenant_id: UUID, user_id: str, scopes: Iterable[str]) -> list[str]:
    """Take scopes back; return the rest. Applies from the next call of a tool on.

    Raises:
        NotFound: the tenant has no such user.
    """
    return _regrant(db, tenant_id, user_id, lambda held: held - set(scopes))


def connect(db: Session, tenant_id: UUID, one: str, other: str, status: ConnectionStatus = "active") -> UserConnection:
    """Connect two users, or make their connection inactive. The connection keeps its id.

    Raises:
        NotFound: the tenant lacks one of them.
        Invalid: they are the same.
    """
    if one == other:
        raise Invalid(f"user {one!r} cannot be connected with the same user")
    for user_id in (one, other):
        get_user(db, tenant_id, user_id)
    a_id, b_id = sorted((one, other))
    new = insert(ConnectionRow).values(tenant_id=tenant_id, id=new_id(), a_id=a_id, b_id=b_id, status=status)
    pair = [ConnectionRow.tenant_id, ConnectionRow.a_id, ConnectionRow.b_id]
    put = new.on_conflict_do_update(index_elements=pair, set_={"status": status}).returning(ConnectionRow.id)
    made = UserConnection(id=db.scalars(put).one(), users=(a_id, b_id), is_active=status == "active")
    _audit(db, tenant_id, "users.connected", a_id, other_sha256=user_digest(tenant_id, b_id), status=status)
    return made


def connections_of(db: Session, tenant_id: UUID, user_id: str) -> list[Contact]:
    """Return all contacts of a user, by name."""
    query = (
        select(UserRow, ConnectionRow.id, ConnectionRow.status)
        .join(UserRow, (UserRow.tenant_id == ConnectionRow.tenant_id) & (UserRow.id == _other(user_id)))
        .where(ConnectionRow.tenant_id == tenant_id, _concerns(user_id))
        .order_by(UserRow.name, UserRow.id)
    )
    return [
        Contact(user=_user(row), connection_id=connection_id, is_active=status == "active")
        for row, connection_id, status in db.execute(query)
    ]


def contacts(db: Session, tenant_id: UUID, of_user: str, query: str) -> list[Contact]:
    """Return the contacts whom a user means: those that a name or an e-mail address fits best, by name.

    An address fits only its owner. A whole name fits better than some of its words, such as the first name, and words
    fit better than beginnings of words. Case and accents do not count.
    """
    known = connections_of(db, tenant_id, of_user)
    address = _ADDRESS.search(query)
    if address is not None:
        wanted = _folded(address[0])
        return [contact for contact in known if contact.user.email and _folded(contact.user.email) == wanted]
    words = _words(query)
    for fits in _FITS if words else ():
        found = [contact for contact in known if fits(words, _words(contact.user.name))]
        if found:
            return found
    return []


_FITS: tuple[Callable[[list[str], list[str]], bool], ...] = (
    lambda words, name: sorted(words) == sorted(name),
    lambda words, name: set(words) <= set(name),
    lambda words, name: all(any(part.startswith(word) for part in name) for word in words),
)


def _folded(text: str) -> str:
    """Return a text without case and accents."""
    parts = unicodedata.normalize("NFKD", text.casefold())
    return "".join(part for part in parts if not unicodedata.combining(part))


def _words(text: str) -> list[str]:
    return _WORD.findall(_folded(text))


def _regrant(db: Session, tenant_id: UUID, user_id: str, change: Callable[[set[str]], set[str]]) -> list[str]:
    row = db.scalar(_of(tenant_id, user_id).with_for_update())
    if row is None:
        raise NotFound(f"there is no user {user_id!r}")
    row.scopes = sorted(change(set(row.scopes)))
    _audit(db, tenant_id, "user.scopes_set", user_id, scopes=row.scopes)
    return row.scopes


def _audit(db: Session, tenant_id: UUID, kind: str, user_id: str, **content: Any) -> None:
    tenant_audit.append(db, tenant_id, kind, {"user_sha256": user_digest(tenant_id, user_id), **content})


def _of(tenant_id: UUID, user_id: str) -> Select[UserRow]:
    query = select(UserRow).where(UserRow.tenant_id == tenant_id, UserRow.id == user_id)
    return query.execution_options(populate_existing=True)


def _concerns(user_id: str) -> ColumnElement[bool]:
    return or_(ConnectionRow.a_id == user_id, ConnectionRow.b_id == user_id)


def _other(user_id: str) -> ColumnElement[str]:
    return case((ConnectionRow.a_id == user_id, ConnectionRow.b_id), else_=ConnectionRow.a_id)


def _user(row: UserRow) -> DirectoryUser:
    return DirectoryUser(
        id=row.id,
        name=row.name,
        email=row.email,
        timezone=row.timezone,
        locale=row.locale,
        working_hours=row.working_hours,
        scopes=frozenset(row.scopes),
        created_at=row.created_at,
    )
