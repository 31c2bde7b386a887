"""A change moves a confirmed meeting, or cancels it, in two phases like the confirmation.

`begin` records the intent and holds the new time for both users. Its holder has the fence, and `finish` or `undo` ends
it. `take_abandoned` finds changes whose holder is lost. Until a change is finished, the session shows the meeting as it
was. Whoever locks a session and its change locks the session first.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import Select, func, or_, select
from sqlalchemy.orm import Session

from turnloom.models.errors import Conflict
from turnloom.models.runtime.ids import new_id
from turnloom.tools.packs.meetings.store import calendars, meetings
from turnloom.tools.packs.meetings.store.calendars import CalendarEvent, Interval
from turnloom.tools.packs.meetings.store.meetings import MeetingSession
from turnloom.tools.packs.meetings.tables import MeetingChangeRow, MeetingSessionRow


class WantedChange(NamedTuple):
    """A change that a call asks for."""

    key: str
    """Idempotency key of the call."""
    after: Interval | None
    """The new time; None to cancel the meeting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change of a confirmed meeting."""

    id: UUID
    session: MeetingSession
    key: str
    before: Interval
    after: Interval | None
    """The new time; None if the meeting is cancelled."""
    sequence: int
    """Its number among the changes of the meeting, from 1: the SEQUENCE of the changed event in iCalendar."""
    is_done: bool
    fence: int

    @property
    def held_uid(self) -> str:
        """The uid under which the new time is held in our calendars."""
        return f"{self.session.uid}/{self.sequence}"

    @property
    def uids(self) -> tuple[str, str]:
        """The uids of the meeting itself, which are in nobody's way."""
        return self.session.uid, self.held_uid


def arranged(db: Session, tenant_id: UUID, user_id: str, after: datetime) -> list[MeetingSession]:
    """Return the sessions of a user's confirmed meetings that end after a time, by start."""
    query = select(MeetingSessionRow).where(
        MeetingSessionRow.tenant_id == tenant_id,
        or_(MeetingSessionRow.user_id == user_id, MeetingSessionRow.counterpart_id == user_id),
        MeetingSessionRow.status == "confirmed",
        MeetingSessionRow.ends > after,
    )
    rows = db.scalars(query.order_by(MeetingSessionRow.starts, MeetingSessionRow.id).limit(100))
    return [meetings.session_of(db, row) for row in rows.all()]


def of_key(db: Session, tenant_id: UUID, key: str) -> Change | None:
    """Return the change that the call with this idempotency key has begun or made; None if there is none."""
    query = select(MeetingChangeRow).where(MeetingChangeRow.tenant_id == tenant_id, MeetingChangeRow.key == key)
    row = db.scalar(query)
    return None if row is None else _change(db, row)


def begin(db: Session, session: MeetingSession, wanted: WantedChange, lasts: timedelta, title: str) -> Change:
    """Begin to change a confirmed meeting, whose session is locked, and hold the new time for both users.

    Raises:
        Conflict: another call is changing it, or one of the users is busy at the new time.
    """
    assert session.chosen is not None, "a confirmed meeting has a time"
    number = select(func.count()).select_from(_changes_of(session).subquery())
    row = MeetingChangeRow(
        tenant_id=session.tenant_id,
        id=new_id(),
        session_id=session.id,
        key=wanted.key,
        sequence=1 + db.scalars(number).one(),
        status="begun",
        fence=1,
        held_until=_now(db) + lasts,
    )
    row.starts, row.ends = session.chosen
    row.new_starts, row.new_ends = wanted.after or (None, None)
    if db.scalar(_changes_of(session).where(MeetingChangeRow.status == "begun")) is not None:
        raise Conflict("another call is changing this meeting right now")
    db.add(row)
    db.flush()
    change = _change(db, row)
    if change.after is not None:
        _hold(db, change, change.after, title)
    return change


def resume(db: Session, change: Change, lasts: timedelta) -> Change:
    """Take over a change that an earlier attempt of the same call has begun.

    Raises:
        Conflict: it has been undone meanwhile.
    """
    row = _locked(db, change)
    if row is None:
        raise Conflict("this change took too long and was undone")
    row.fence, row.held_until = row.fence + 1, _now(db) + lasts
    return _change(db, row)


def check_begun(db: Session, change: Change) -> None:
    """Check that the caller's fence still holds the change.

    Raises:
        Conflict: another process has taken it over.
    """
    _held(db, change)


def finish(db: Session, change: Change, kept_here: list[str], title: str) -> None:
    """Make a change final; `kept_here` are the users whose calendar is ours.

    Raises:
        Conflict: another process has taken it over.
    """
    row = _held(db, change)
    session = change.session
    for uid in change.uids:
        calendars.release(db, session.tenant_id, session.users, uid)
    if change.after is not None:
        event = CalendarEvent(session.uid, change.after, title)
        for user_id in kept_here:
            calendars.put_event(db, session.tenant_id, user_id, event)
    changed = _session_row(db, change)
    if change.after is None:
        changed.status = "cancelled"
    else:
        changed.starts, changed.ends = change.after
    row.status, row.held_until = "done", None


def undo(db: Session, change: Change) -> None:
    """Forget a change that has been undone in both calendars.

    Raises:
        Conflict: another process has taken it over.
    """
    row = _held(db, change)
    calendars.release(db, change.session.tenant_id, change.session.users, change.held_uid)
    db.delete(row)


def take_abandoned(db: Session, lasts: timedelta) -> Change | None:
    """Take over a change whose holder is lost; None if there is none, or other processes are taking them."""
    query = select(MeetingChangeRow).where(MeetingChangeRow.status == "begun")
    query = query.where(MeetingChangeRow.held_until < func.clock_timestamp()).order_by(MeetingChangeRow.held_until)
    row = db.scalar(query.limit(1).with_for_update(skip_locked=True))
    if row is None:
        return None
    row.fence, row.held_until = row.fence + 1, _now(db) + lasts
    return _change(db, row)


def _hold(db: Session, change: Change, at: Interval, title: str) -> None:
    session = change.session
    for user_id in session.users:
        if calendars.busy(db, session.tenant_id, user_id, at, but=change.uids):
            raise Conflict("that time is taken")
    for user_id in session.users:
        event = CalendarEvent(change.held_uid, at, title)
        calendars.put_event(db, session.tenant_id, user_id, event, status="held")


def _changes_of(session: MeetingSession) -> Select[MeetingChangeRow]:
    return select(MeetingChangeRow).where(
        MeetingChangeRow.tenant_id == session.tenant_id, MeetingChangeRow.session_id == session.id
    )


def _held(db: Session, change: Change) -> MeetingChangeRow:
    row = _locked(db, change)
    if row is None or row.status != "begun" or row.fence != change.fence:
        raise Conflict(f"another process is changing the meeting of session {change.session.id}")
    return row


def _locked(db: Session, change: Change) -> MeetingChangeRow | None:
    meetings.locked(db, change.session)
    query = _changes_of(change.session).where(MeetingChangeRow.id == change.id)
    return db.scalar(query.with_for_update().execution_options(populate_existing=True))


def _session_row(db: Session, change: Change) -> MeetingSessionRow:
    return db.get_one(MeetingSessionRow, (change.session.tenant_id, change.session.id))


def _now(db: Session) -> datetime:
    now: datetime = db.scalars(select(func.clock_timestamp())).one()
    return now


def _change(db: Session, row: MeetingChangeRow) -> Change:
    after = None if row.new_starts is None or row.new_ends is None else Interval(row.new_starts, row.new_ends)
    return Change(
        id=row.id,
        session=meetings.session_of(db, db.get_one(MeetingSessionRow, (row.tenant_id, row.session_id))),
        key=row.key,
        before=Interval(row.starts, row.ends),
        after=after,
        sequence=row.sequence,
        is_done=row.status == "done",
        fence=row.fence,
    )
