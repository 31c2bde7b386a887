"""Notifications are messages to users beside the replies to their turns; users settle them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, func, select, update
from sqlalchemy.orm import Session

from turnloom.models.contracts.users import NotificationStatus
from turnloom.models.errors import Conflict, NotFound
from turnloom.models.runtime.ids import new_id
from turnloom.models.tables.notifications import NotificationRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A notification to send to a user."""

    user_id: str
    kind: str
    """Its kind, such as `meeting.confirmed`."""
    title: str
    body: str
    about: Mapping[str, Any]
    """Its subject, for programs."""
    conversation_id: str | None
    """The conversation that it comes from: erasing that erases it too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notification:
    """A notification that was sent to a user."""

    id: UUID
    kind: str
    title: str
    body: str
    status: NotificationStatus
    resolution: str | None
    created_at: datetime
    resolved_at: datetime | None


def notify(db: Session, tenant_id: UUID, notice: Notice) -> UUID:
    """Send a user a notification; return its id."""
    notification_id = new_id()
    db.add(
        NotificationRow(
            tenant_id=tenant_id,
            id=notification_id,
            user_id=notice.user_id,
            kind=notice.kind,
            title=notice.title,
            body=notice.body,
            about=dict(notice.about),
            status="open",
            conversation_id=notice.conversation_id,
        )
    )
    db.flush()
    return notification_id


def listed(
    db: Session, tenant_id: UUID, user_id: str, status: NotificationStatus | None, limit: int
) -> list[Notification]:
    """Return a user's notifications, the oldest first; of one status, or all."""
    # By the database's clock: ids are made from the processes' clocks, which may differ.
    order = NotificationRow.created_at, NotificationRow.id
    query = select(NotificationRow).where(*_told(tenant_id, user_id, status)).order_by(*order)
    return [_notification(row) for row in db.scalars(query.limit(limit))]


def count(db: Session, tenant_id: UUID, user_id: str, status: NotificationStatus | None) -> int:
    """Return the number of a user's notifications; of one status, or all."""
    return db.scalars(select(func.count()).where(*_told(tenant_id, user_id, status))).one()


def get(db: Session, tenant_id: UUID, user_id: str, notification_id: UUID) -> Notification:
    """Return one notification of a user.

    Raises:
        NotFound: they have no such notification.
    """
    return _notification(_row(db, tenant_id, user_id, notification_id, lock=False))


def resolve(
    db: Session, tenant_id: UUID, user_id: str, notification_id: UUID, resolution: str, conversation_id: str
) -> Notification:
    """Settle a notification. The same resolution again changes nothing.

    Raises:
        NotFound: they have no such notification.
        Conflict: it was settled with another resolution.
    """
    row = _row(db, tenant_id, user_id, notification_id, lock=True)
    if row.status == "resolved":
        if row.resolution != resolution:
            raise Conflict(f"notification {notification_id} was settled already: {row.resolution}")
        return _notification(row)
    row.status, row.resolution, row.resolved_in = "resolved", resolution, conversation_id
    row.resolved_at = db.scalar(select(func.clock_timestamp()))
    return _notification(row)


def settle(db: Session, tenant_id: UUID, kind: str, about: Mapping[str, Any], resolution: str) -> None:
    """Settle the open notifications of a kind that are about something: nobody need settle them any more."""
    these = update(NotificationRow).where(
        NotificationRow.tenant_id == tenant_id,
        NotificationRow.kind == kind,
        NotificationRow.status == "open",
        NotificationRow.about.contains(dict(about)),
    )
    db.execute(these.values(status="resolved", resolution=resolution, resolved_at=func.clock_timestamp()))


def _row(db: Session, tenant_id: UUID, user_id: str, notification_id: UUID, *, lock: bool) -> NotificationRow:
    query = select(NotificationRow).where(NotificationRow.tenant_id == tenant_id, NotificationRow.id == notification_id)
    query = query.where(NotificationRow.user_id == user_id).execution_options(populate_existing=True)
    row = db.scalar(query.with_for_update() if lock else query)
    if row is None:
        raise NotFound(f"user {user_id!r} has no notification {notification_id}")
    return row


def _told(tenant_id: UUID, user_id: str, status: NotificationStatus | None) -> list[ColumnElement[bool]]:
    told = [NotificationRow.tenant_id == tenant_id, NotificationRow.user_id == user_id]
    return told if status is None else [*told, NotificationRow.status == status]


def _notification(row: NotificationRow) -> Notification:
    return Notification(
        id=row.id,
        kind=row.kind,
        title=row.title,
        body=row.body,
        status=row.status,  # type: ignore[arg-type]  # only those are written
        resolution=row.resolution,
        created_at=row.created_at,
        resolved_at=row.resolved_at,
    )
