"""Our own calendars record when users are busy, and which times are held for a meeting that is being confirmed.

A transaction that holds a time locks the users first, in the order of their ids. If two want the same time of the same
person, the second sees what the first has held.
"""

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import delete, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from turnloom.models.runtime.ids import new_id
from turnloom.models.tables.users import UserRow
from turnloom.tools.packs.meetings.tables import CalendarEventRow


class Interval(NamedTuple):
    """A span of time that excludes its end."""

    starts: datetime
    ends: datetime

    def overlaps(self, other: "Interval") -> bool:
        """Return whether the two spans share a moment."""
        return self.starts < other.ends and other.starts < self.ends


class CalendarEvent(NamedTuple):
    """An event in a calendar."""

    uid: str
    at: Interval
    title: str


def lock(db: Session, tenant_id: UUID, user_ids: Iterable[str]) -> None:
    """Keep others from holding times of these users until the transaction ends."""
    these = select(UserRow.id).where(UserRow.tenant_id == tenant_id, UserRow.id.in_(list(user_ids)))
    # In one order everywhere, so that no two wait for each other. Foreign keys to these rows stay possible.
    db.execute(these.order_by(UserRow.id).with_for_update(key_share=True))


def busy(db: Session, tenant_id: UUID, user_id: str, window: Interval, but: Collection[str] = ()) -> list[Interval]:
    """Return the times within a window at which a user is busy, by start. `but`: uids of events to leave out."""
    query = (
        select(CalendarEventRow.starts, CalendarEventRow.ends)
        .where(CalendarEventRow.tenant_id == tenant_id, CalendarEventRow.user_id == user_id)
        .where(CalendarEventRow.starts < window.ends, CalendarEventRow.ends > window.starts)
        .where(CalendarEventRow.uid.not_in(but))
        .order_by(CalendarEventRow.starts, CalendarEventRow.ends)
    )
    return [Interval(starts, ends) for starts, ends in db.execute(query)]


def put_event(db: Session, tenant_id: UUID, user_id: str, event: CalendarEvent, status: str = "confirmed") -> None:
    """Put an event into a user's calendar. It replaces the event with the same uid."""
    values = {"starts": event.at.starts, "ends": event.at.ends, "title": event.title, "status": status}
    new = insert(CalendarEventRow).values(tenant_id=tenant_id, id=new_id(), user_id=user_id, uid=event.uid, **values)
    key = [CalendarEventRow.tenant_id, CalendarEventRow.user_id, CalendarEventRow.uid]
    db.execute(new.on_conflict_do_update(index_elements=key, set_=values))


def keep(db: Session, tenant_id: UUID, user_ids: Iterable[str], uid: str) -> None:
    """Confirm the times held under a uid for these users. Delete them for all others, whose calendars are elsewhere."""
    held = (CalendarEventRow.tenant_id == tenant_id, CalendarEventRow.uid == uid)
    theirs = CalendarEventRow.user_id.in_(list(user_ids))
    db.execute(update(CalendarEventRow).where(*held, theirs).values(status="confirmed"))
    db.execute(delete(CalendarEventRow).where(*held, CalendarEventRow.status == "held"))


def release(db: Session, tenant_id: UUID, user_ids: Iterable[str], uid: str) -> None:
    """Delete the times held under a uid for these users."""
    held = (CalendarEventRow.tenant_id == tenant_id, CalendarEventRow.uid == uid)
    db.execute(delete(CalendarEventRow).where(*held, CalendarEventRow.user_id.in_(list(user_ids))))
