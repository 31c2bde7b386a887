"""Write a meeting into both calendars, or take it away from them again."""

import time
from collections.abc import Collection
from datetime import timedelta

from models.crash_points import reach
from models.database import transaction
from models.errors import ToolFailed, Unavailable
from models.ledger import meetings
from models.ledger.users import User
from models.logging import log
from tools.meetings.calendars import Calendar
from tools.meetings.dav import open_calendar
from tools.meetings.invites import Meeting, calendar_object
from tools.meetings.records import ledger, meeting_of

_CLEANING_S = 20.0
"""For one meeting, both calendars together."""
_AGAIN_AFTER = timedelta(minutes=5)
"""Where it did not work: a server may be out for long, and a user may have to connect their calendar first."""


def write(meeting: Meeting, written: list[User], until: float) -> list[Calendar]:
    """Write a meeting that is held into both calendars, unless one of them has something else then; return them.

    `written` gets each user before the meeting is written into their calendar.

    Raises:
        ToolFailed: CONFLICT, somebody is busy, or somebody else has the session in hand; or as a calendar fails.
        Unavailable, TimeoutError: as a calendar fails.
    """
    session = meeting.session
    assert session.chosen is not None, "what is held has a time"
    calendars = [_calendar(meeting, user, until) for user in meeting.users]
    # Only now, while the time is held: whoever wrote there before had it held until their meeting could be seen.
    for calendar in calendars:
        if calendar.busy(session.chosen, but=session.uid):
            raise ToolFailed(f"that time has been taken meanwhile: {calendar.user.name} is busy", code="CONFLICT")
    event = calendar_object(meeting)
    for calendar in calendars:
        with ledger() as db:
            meetings.check_held(db, session)
        written.append(calendar.user)
        calendar.write(session.uid, event)
        reach("calendar.written")
    reach("meeting.written")
    return calendars


def undo(meeting: Meeting, written: Collection[User], until: float) -> None:
    """Take a meeting away from the calendars of some users and open its session again.

    Where that fails the session stays as it is, for `clean_up`.
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


def clean_up() -> None:
    """Undo what calls that were lost while they confirmed a meeting have left in calendars."""
    while True:
        with transaction() as db:
            session = meetings.take_abandoned(db, _AGAIN_AFTER)
            if session is None:
                return
            meeting = meeting_of(db, session)
        undo(meeting, meeting.users, time.monotonic() + _CLEANING_S)


def _calendar(meeting: Meeting, user: User, until: float) -> Calendar:
    return open_calendar(meeting.session.tenant_id, user, until, is_own=user is meeting.organizer)
