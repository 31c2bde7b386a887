"""Write a meeting into both calendars, rewrite it there, or remove it from them."""

import time
from collections.abc import Collection, Sequence
from datetime import timedelta

from turnloom.models.connections.database import transaction
from turnloom.models.errors import ToolFailed, Unavailable
from turnloom.models.ledger.users import DirectoryUser
from turnloom.models.runtime.crash_points import reach
from turnloom.models.runtime.logging import log
from turnloom.tools.packs.meetings.calendars import Calendar
from turnloom.tools.packs.meetings.dav import open_calendars
from turnloom.tools.packs.meetings.free_busy import busy_times
from turnloom.tools.packs.meetings.invites import Meeting, calendar_object
from turnloom.tools.packs.meetings.records import ledger, meeting_of
from turnloom.tools.packs.meetings.store import changes, meetings
from turnloom.tools.packs.meetings.store.changes import Change

LOST_AFTER = timedelta(seconds=30)
"""A call that is still at work this long after its deadline counts as lost."""
WRITING = 2 / 3
"""Share of the remaining time for writing. The rest is for undoing it."""
_CLEANING_S = 20.0
"""Time to clean up one meeting in both calendars."""
_AGAIN_AFTER = timedelta(minutes=5)
"""Pause before the next attempt. A server may be out for long, or a user may have to connect their calendar first."""


def write(meeting: Meeting, written: list[DirectoryUser], until: float) -> list[Calendar]:
    """Write a held meeting into both calendars and return them.

    Each user is added to `written` just before the meeting is written into their calendar.

    Raises:
        ToolFailed: CONFLICT, a user is busy by now, or the session is no longer held by this call; or the failure of a
            calendar.
        Unavailable, TimeoutError: the failure of a calendar.
    """
    session = meeting.session
    assert session.chosen is not None, "a held session has a time"
    calendars = _calendars(meeting, meeting.users, until)
    # Look only now, while the time is held: an earlier writer held it until its meeting was visible.
    for calendar, busy in zip(calendars, busy_times(calendars, session.chosen, (session.uid,)), strict=True):
        if busy:
            raise ToolFailed(f"the time has been taken in the meantime: {calendar.user.name} is busy", code="CONFLICT")
    event = calendar_object(meeting)
    for calendar in calendars:
        with ledger() as db:
            meetings.check_held(db, session)
        written.append(calendar.user)
        calendar.write(session.uid, event)
        reach("calendar.written")
    reach("meeting.written")
    return calendars


def undo(meeting: Meeting, written: Collection[DirectoryUser], until: float) -> None:
    """Remove a meeting from the calendars of some users and release its session.

    If that fails, the session stays as it is, and `clean_up` tries again.
    """
    session = meeting.session
    try:
        with ledger() as db:
            meetings.check_held(db, session)
        for user in written:
            _calendar(meeting, user, until).remove(session.uid)
            reach("calendar.cleared")
        reach("meeting.cleared")
        with ledger() as db:
            meetings.release(db, session)
    except (ToolFailed, Unavailable, TimeoutError) as error:
        log.warning("meeting.left", session_id=str(session.id), error=type(error).__name__)
    else:
        log.info("meeting.undone", session_id=str(session.id))


def write_change(change: Change, meeting: Meeting, written: list[DirectoryUser], until: float) -> list[Calendar]:
    """Rewrite a meeting in both calendars at its new time, or remove it from them, and return them.

    `written` and the exceptions are those of `write`.
    """
    calendars = _calendars(meeting, meeting.users, until)
    after = change.after
    found = busy_times(calendars, after, change.uids) if after is not None else [[] for _ in calendars]
    busy = [calendar.user.name for calendar, times in zip(calendars, found, strict=True) if times]
    if busy:
        raise ToolFailed(f"{' and '.join(busy)} cannot meet then: there is something else", code="CONFLICT")
    for calendar in calendars:
        with ledger() as db:
            changes.check_begun(db, change)
        written.append(calendar.user)
        if after is None:
            calendar.remove(meeting.session.uid)
        else:
            calendar.write(meeting.session.uid, calendar_object(meeting.at(after, change.sequence)))
        reach("calendar.changed")
    reach("change.written")
    return calendars


def undo_change(change: Change, meeting: Meeting, written: Collection[DirectoryUser], until: float) -> None:
    """Put a meeting back into the calendars of some users as it was before a change, and forget the change.

    If that fails, the change stays as it is, and `clean_up` tries again.
    """
    try:
        with ledger() as db:
            changes.check_begun(db, change)
        event = calendar_object(meeting.at(change.before, change.sequence - 1))
        for user in written:
            _calendar(meeting, user, until).write(meeting.session.uid, event)
            reach("calendar.restored")
        reach("change.restored")
        with ledger() as db:
            changes.undo(db, change)
    except (ToolFailed, Unavailable, TimeoutError) as error:
        log.warning("change.left", session_id=str(meeting.session.id), error=type(error).__name__)
    else:
        log.info("change.undone", session_id=str(meeting.session.id))


def clean_up() -> None:
    """Undo what lost calls have left in calendars."""
    _undo_confirmations()
    _undo_changes()


def _undo_changes() -> None:
    while True:
        with transaction() as db:
            change = changes.take_abandoned(db, _AGAIN_AFTER)
            if change is None:
                return
            meeting = meeting_of(db, change.session)
        undo_change(change, meeting, meeting.users, time.monotonic() + _CLEANING_S)


def _undo_confirmations() -> None:
    while True:
        with transaction() as db:
            session = meetings.take_abandoned(db, _AGAIN_AFTER)
            if session is None:
                return
            meeting = meeting_of(db, session)
        undo(meeting, meeting.users, time.monotonic() + _CLEANING_S)


def _calendar(meeting: Meeting, user: DirectoryUser, until: float) -> Calendar:
    return _calendars(meeting, [user], until)[0]


def _calendars(meeting: Meeting, users: Sequence[DirectoryUser], until: float) -> list[Calendar]:
    return open_calendars(meeting.session.tenant_id, users, until, owner=meeting.actor)
