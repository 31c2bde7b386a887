"""A meeting session holds the times proposed to a user, and the two-phase confirmation of one of them.

A session is `open` until it expires. `hold` makes it `confirming` and takes the time of both users. Its holder has the
fence, and `finish` or `release` ends it. `take_abandoned` finds sessions whose holder is lost.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session

from turnloom.models.errors import Conflict
from turnloom.models.runtime.ids import new_id
from turnloom.tools.packs.meetings.store import calendars
from turnloom.tools.packs.meetings.store.calendars import CalendarEvent, Interval
from turnloom.tools.packs.meetings.tables import MeetingChangeRow, MeetingSessionRow

EXPIRES_AFTER = timedelta(minutes=30)
_FRESH = {"populate_existing": True}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """A requested meeting."""

    user_id: str
    counterpart_id: str
    connection_id: UUID
    conversation_id: str
    duration_mins: int
    wanted: Mapping[str, Any]
    """The request, as JSON: an equal one is a duplicate."""
    tz: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MeetingSession:
    """Proposed times for a meeting, and their outcome."""

    tenant_id: UUID
    id: UUID
    user_id: str
    counterpart_id: str
    connection_id: UUID
    conversation_id: str
    duration_mins: int
    tz: str
    proposals: Sequence[Interval]
    status: str
    chosen: Interval | None
    confirm_key: str | None
    fence: int
    expires_at: datetime
    is_expired: bool
    created_at: datetime

    @property
    def uid(self) -> str:
        """The meeting's UID in iCalendar, the same in all calendars."""
        return str(self.id)

    @property
    def is_over(self) -> bool:
        """Whether it ended without a meeting."""
        return self.is_expired or self.status == "cancelled"

    @property
    def users(self) -> tuple[str, str]:
        """The two users who meet."""
        return self.user_id, self.counterpart_id


def opened(db: Session, tenant_id: UUID, key: str) -> MeetingSession | None:
    """Return the session that the call with this idempotency key opened; None if it opened none."""
    query = select(MeetingSessionRow).where(MeetingSessionRow.tenant_id == tenant_id, MeetingSessionRow.key == key)
    row = db.scalar(query)
    return None if row is None else session_of(db, row)


def confirmed(db: Session, tenant_id: UUID, key: str) -> MeetingSession | None:
    """Return the session that the call with this idempotency key confirmed; None if it confirmed none."""
    query = select(MeetingSessionRow).where(
        MeetingSessionRow.tenant_id == tenant_id,
        MeetingSessionRow.confirm_key == key,
        # A meeting that has been cancelled since then was confirmed all the same.
        MeetingSessionRow.status.in_(["confirmed", "cancelled"]),
    )
    row = db.scalar(query)
    return None if row is None else session_of(db, row)


def open_session(db: Session, tenant_id: UUID, key: str, wish: Wish, proposals: Sequence[Interval]) -> MeetingSession:
    """Open a session, once for each idempotency key. It replaces another open session of the two users.

    Raises:
        Conflict: this conversation has an equal open session, or a meeting of the two is being confirmed.
    """
    calendars.lock(db, tenant_id, (wish.user_id, wish.counterpart_id))
    earlier = opened(db, tenant_id, key)
    if earlier is not None:
        return earlier
    _replace(db, tenant_id, wish)
    row = MeetingSessionRow(
        tenant_id=tenant_id,
        id=new_id(),
        key=key,
        conversation_id=wish.conversation_id,
        user_id=wish.user_id,
        counterpart_id=wish.counterpart_id,
        connection_id=wish.connection_id,
        duration_mins=wish.duration_mins,
        wanted=dict(wish.wanted),
        tz=wish.tz,
        proposals=[[at.isoformat() for at in proposal] for proposal in proposals],
        status="open",
        expires_at=_now(db) + EXPIRES_AFTER,
    )
    db.add(row)
    db.flush()
    return session_of(db, row)


def last(
    db: Session, tenant_id: UUID, user_id: str, conversation_id: str, session_id: UUID | None = None
) -> MeetingSession | None:
    """Lock the two users, then a session of the user in a conversation, and return it; without an id the last one."""
    query = select(MeetingSessionRow).where(
        MeetingSessionRow.tenant_id == tenant_id,
        MeetingSessionRow.conversation_id == conversation_id,
        MeetingSessionRow.user_id == user_id,
    )
    if session_id is not None:
        query = query.where(MeetingSessionRow.id == session_id)
    row = db.scalar(query.order_by(MeetingSessionRow.created_at.desc(), MeetingSessionRow.id.desc()).limit(1))
    return None if row is None else locked(db, session_of(db, row))


def offered(db: Session, tenant_id: UUID, user_id: str, session_id: UUID | None = None) -> list[MeetingSession]:
    """Return the sessions in which others have proposed times to a user, the newest first.

    Those that have ended are left out, unless the session's id is given.
    """
    query = select(MeetingSessionRow).where(
        MeetingSessionRow.tenant_id == tenant_id, MeetingSessionRow.counterpart_id == user_id
    )
    if session_id is not None:
        query = query.where(MeetingSessionRow.id == session_id)
    else:
        open_still = MeetingSessionRow.expires_at > func.clock_timestamp()
        query = query.where(MeetingSessionRow.status.in_(["open", "confirming"]), open_still)
    rows = db.scalars(query.order_by(MeetingSessionRow.created_at.desc(), MeetingSessionRow.id.desc()).limit(10))
    return [session_of(db, row) for row in rows.all()]


def locked(db: Session, session: MeetingSession) -> MeetingSession:
    """Lock the two users, then their session, and return it as it is now."""
    calendars.lock(db, session.tenant_id, session.users)
    return session_of(db, _locked(db, session.tenant_id, session.id))


def hold(
    db: Session, session: MeetingSession, chosen: Interval, key: str, lasts: timedelta, title: str
) -> MeetingSession:
    """Hold the chosen time for both users: begin or continue to confirm a session that `get` has locked.

    Raises:
        Conflict: the time of one of them is taken.
    """
    for user_id in session.users:
        if calendars.busy(db, session.tenant_id, user_id, chosen, but=(session.uid,)):
            raise Conflict("that time has been taken meanwhile")
    for user_id in session.users:
        calendars.put_event(db, session.tenant_id, user_id, CalendarEvent(session.uid, chosen, title), status="held")
    row = _locked(db, session.tenant_id, session.id)
    row.status, row.confirm_key, row.fence = "confirming", key, row.fence + 1
    row.starts, row.ends = chosen
    row.held_until = _now(db) + lasts
    return session_of(db, row)


def check_held(db: Session, session: MeetingSession) -> None:
    """Check that the caller's fence still holds the session.

    Raises:
        Conflict: another process has taken the session over.
    """
    _held(db, session)


def finish(db: Session, session: MeetingSession, kept_here: Sequence[str]) -> MeetingSession:
    """Confirm the held time; `kept_here` are the users whose calendar is ours.

    Raises:
        Conflict: somebody else has taken the session in hand.
    """
    row = _held(db, session)
    calendars.keep(db, session.tenant_id, kept_here, session.uid)
    row.status, row.held_until = "confirmed", None
    return session_of(db, row)


def release(db: Session, session: MeetingSession) -> None:
    """Reopen a session whose confirmation has been undone.

    Raises:
        Conflict: somebody else has taken the session in hand.
    """
    row = _held(db, session)
    calendars.release(db, session.tenant_id, session.users, session.uid)
    row.status, row.starts, row.ends = "open", None, None
    row.held_until, row.confirm_key = None, None


def take_abandoned(db: Session, lasts: timedelta) -> MeetingSession | None:
    """Take over a session whose holder is lost; None if there is none, or other processes are taking them."""
    query = select(MeetingSessionRow).where(MeetingSessionRow.status == "confirming")
    query = query.where(MeetingSessionRow.held_until < func.clock_timestamp()).order_by(MeetingSessionRow.held_until)
    row = db.scalar(query.limit(1).with_for_update(skip_locked=True))
    if row is None:
        return None
    row.fence, row.held_until = row.fence + 1, _now(db) + lasts
    return session_of(db, row)


def erase(db: Session, tenant_id: UUID, conversation_id: str) -> None:
    """Erase a conversation's sessions. The meetings belong to the users and stay in their calendars.

    A session that is being confirmed or changed stays for recovery, without the request and the other proposals.
    """
    of_it = (MeetingSessionRow.tenant_id == tenant_id, MeetingSessionRow.conversation_id == conversation_id)
    begun = (MeetingChangeRow.tenant_id == tenant_id, MeetingChangeRow.status == "begun")
    changed = select(MeetingChangeRow.session_id).where(*begun)
    settled = (MeetingSessionRow.status != "confirming", MeetingSessionRow.id.not_in(changed))
    db.execute(delete(MeetingSessionRow).where(*of_it, *settled))
    db.execute(update(MeetingSessionRow).where(*of_it).values(proposals=[], wanted={}))


def _replace(db: Session, tenant_id: UUID, wish: Wish) -> None:
    """Cancel the open session of the two users, so that a new one can replace it."""
    query = select(MeetingSessionRow).where(
        MeetingSessionRow.tenant_id == tenant_id,
        MeetingSessionRow.user_id == wish.user_id,
        MeetingSessionRow.counterpart_id == wish.counterpart_id,
        MeetingSessionRow.status.in_(["open", "confirming"]),
    )
    row = db.scalar(query.with_for_update().execution_options(populate_existing=True))
    if row is None:
        return
    if row.status == "confirming":
        raise Conflict("a meeting of these two is being confirmed at this moment")
    is_expired = row.expires_at <= _now(db)
    if not is_expired and row.conversation_id == wish.conversation_id and row.wanted == wish.wanted:
        raise Conflict(f"these times were proposed already, in session {row.id}, and can still be chosen")
    row.status = "expired" if is_expired else "cancelled"
    db.flush()  # before the new one is inserted: only one may be open


def _held(db: Session, session: MeetingSession) -> MeetingSessionRow:
    row = _locked(db, session.tenant_id, session.id)
    if row.status != "confirming" or row.fence != session.fence:
        raise Conflict(f"another process is confirming meeting session {session.id}")
    return row


def _locked(db: Session, tenant_id: UUID, session_id: UUID) -> MeetingSessionRow:
    row = (MeetingSessionRow.tenant_id == tenant_id, MeetingSessionRow.id == session_id)
    return db.scalars(select(MeetingSessionRow).where(*row).with_for_update(), execution_options=_FRESH).one()


def _now(db: Session) -> datetime:
    """Return the database's time. Call it after taking the lock that protects the comparison."""
    now: datetime = db.scalars(select(func.clock_timestamp())).one()
    return now


def session_of(db: Session, row: MeetingSessionRow) -> MeetingSession:
    """Return the session of a row."""
    chosen = None if row.starts is None or row.ends is None else Interval(row.starts, row.ends)
    return MeetingSession(
        tenant_id=row.tenant_id,
        id=row.id,
        user_id=row.user_id,
        counterpart_id=row.counterpart_id,
        connection_id=row.connection_id,
        conversation_id=row.conversation_id,
        duration_mins=row.duration_mins,
        tz=row.tz,
        proposals=[Interval(*map(datetime.fromisoformat, proposal)) for proposal in row.proposals],
        status=row.status,
        chosen=chosen,
        confirm_key=row.confirm_key,
        fence=row.fence,
        expires_at=row.expires_at,
        is_expired=row.status == "expired" or (row.status == "open" and row.expires_at <= _now(db)),
        created_at=row.created_at,
    )
