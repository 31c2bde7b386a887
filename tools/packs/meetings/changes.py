"""`network.reschedule_meeting` and `network.cancel_meeting`: change a confirmed meeting in both calendars, or in none.

Either of the two who meet may do so, in any conversation.

1. Begin: under the lock of both users, a new time is held in our own calendars, and the change is recorded. From here
   on, it outlives this process.
2. Write: both calendars are checked for the new time, and the meeting is rewritten in each, or removed from it.
3. Finish: one commit makes the change final and notifies the other user.

If a step fails, the meeting is put back as it was. If the process is lost, the change remains. The same call made again
continues it, otherwise `calendar_entries.clean_up` undoes it.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from time import monotonic
from typing import Annotated
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, Field

from turnloom.models.connections.database import Transaction
from turnloom.models.contracts.base import Contract
from turnloom.models.errors import Conflict, NeedsInput, NotFound, ToolFailed, Unavailable
from turnloom.models.ledger import users
from turnloom.models.ledger.notifications import Notice, notify, settle
from turnloom.models.runtime.crash_points import reach
from turnloom.tools.context import ToolContext
from turnloom.tools.packs.meetings.calendar_entries import LOST_AFTER, WRITING, undo_change, write_change
from turnloom.tools.packs.meetings.invites import Meeting, cancellation, invitation
from turnloom.tools.packs.meetings.meeting_facts import MeetingFacts, card, facts_of
from turnloom.tools.packs.meetings.records import CONFIRMED, ledger, meeting_of
from turnloom.tools.packs.meetings.store import changes, meetings
from turnloom.tools.packs.meetings.store.calendars import Interval
from turnloom.tools.packs.meetings.store.changes import Change, WantedChange
from turnloom.tools.packs.meetings.times import When, clock, in_words, read_time, told
from turnloom.tools.registry import tool

_MOVED, _CANCELLED = "meeting.moved", "meeting.cancelled"

TimeOfDay = Annotated[
    str, AfterValidator(clock), Field(json_schema_extra={"pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]$"})
]
"""A time of day, such as 15:00. `3pm` is read too."""


class MeetingChoice(Contract):
    """A confirmed meeting of the user's."""

    counterpart: str | None = Field(None, min_length=1, max_length=320)
    """Name or e-mail address of the person whom the user meets. Null if the user names nobody."""
    at: When | None = None
    """Its present start or day, if the user has several: a time in the user's time zone, or a day."""


class MeetingMove(MeetingChoice):
    """A confirmed meeting of the user's, and its new time."""

    new_day: date | None = None
    """The new day. Null: the day stays the same."""
    new_time: TimeOfDay | None = None
    """The new start in the user's time zone. Null: the time of day stays the same. It lasts as long as before."""


class MovedMeeting(MeetingFacts):
    """A meeting that is in both calendars at its new time."""

    previous_start: str
    """Start of the meeting before the change, in the same form."""
    previous_end: str
    """End of the meeting before the change, in the same form."""


class CancelledMeeting(MeetingFacts):
    """A meeting that is in neither calendar any more."""


def find_moved(_: MeetingMove, context: ToolContext) -> MovedMeeting | None:
    """Return the meeting that the call has moved. Otherwise return None: made again, the call goes on."""
    done = _done(context)
    return None if done is None else _moved(*done)


def find_cancelled(_: MeetingChoice, context: ToolContext) -> CancelledMeeting | None:
    """Return the meeting that the call has cancelled. Otherwise return None: made again, the call goes on."""
    done = _done(context)
    return None if done is None else _cancelled(*done)


@tool(
    "network.reschedule_meeting",
    effect="write",
    timeout_s=30,
    scopes=frozenset({"calendar.events.write"}),
    per_user="30/minute",
    reconcile=find_moved,
    artifact=card,
    deeds=frozenset({"changed", "confirmed", "scheduled", "sent", "notified"}),
    redact=frozenset({"invite"}),
    asks=("new_time", "at"),
    errors=(
        *("NOT_FOUND", "CONFLICT", "VALIDATION_ERROR", "CONNECTION_INACTIVE", "REAUTH_REQUIRED"),
        *("RATE_LIMITED", "UPSTREAM_4XX", "UPSTREAM_5XX"),
    ),
    extra="calendars",
)
def reschedule_meeting(query: MeetingMove, context: ToolContext) -> MovedMeeting:
    """Move a confirmed meeting to another time, in both calendars.

    Raises:
        NeedsInput: the new time is missing, or the user has several such meetings.
        ToolFailed: NOT_FOUND, the user has no such meeting; CONFLICT, one of the two is busy then, the meeting is at
            that time already, or another call is changing it; VALIDATION_ERROR, the new time is past;
            CONNECTION_INACTIVE, REAUTH_REQUIRED, UPSTREAM_4XX.
        Unavailable: RATE_LIMITED or UPSTREAM_5XX of a calendar server.
        TimeoutError: a calendar server did not answer in time.
    """
    if query.new_day is None and query.new_time is None:
        raise NeedsInput({"new_time": True})
    return _moved(*_make(query, context, lambda db, meeting: _new_time(db, meeting, query)))


@tool(
    "network.cancel_meeting",
    effect="write",
    timeout_s=30,
    scopes=frozenset({"calendar.events.write"}),
    per_user="30/minute",
    reconcile=find_cancelled,
    deeds=frozenset({"cancelled", "sent", "notified"}),
    redact=frozenset({"invite"}),
    asks=("at",),
    errors=(
        *("NOT_FOUND", "CONFLICT", "CONNECTION_INACTIVE", "REAUTH_REQUIRED"),
        *("RATE_LIMITED", "UPSTREAM_4XX", "UPSTREAM_5XX"),
    ),
    extra="calendars",
)
def cancel_meeting(query: MeetingChoice, context: ToolContext) -> CancelledMeeting:
    """Cancel a confirmed meeting: remove it from both calendars.

    Raises:
        NeedsInput: the user has several such meetings.
        ToolFailed: NOT_FOUND, the user has no such meeting; CONFLICT, another call is changing it;
            CONNECTION_INACTIVE, REAUTH_REQUIRED, UPSTREAM_4XX.
        Unavailable: RATE_LIMITED or UPSTREAM_5XX of a calendar server.
        TimeoutError: a calendar server did not answer in time.
    """
    return _cancelled(*_make(query, context, lambda *_: None))


def _make(
    query: MeetingChoice, context: ToolContext, after: Callable[[Transaction, Meeting], Interval | None]
) -> tuple[Change, Meeting]:
    """Make a change, or continue the one that an earlier attempt of this call has begun."""
    lasts = timedelta(seconds=context.remaining_s) + LOST_AFTER
    with ledger() as db:
        earlier = changes.of_key(db, context.tenant_id, context.idempotency_key)
        if earlier is None:
            meeting = _meant(db, query, context)
            wanted = WantedChange(context.idempotency_key, after(db, meeting))
            change = changes.begin(db, meeting.session, wanted, lasts, meeting.title)
        else:
            change = earlier if earlier.is_done else changes.resume(db, earlier, lasts)
            meeting = meeting_of(db, change.session, context.user["id"])
    if not change.is_done:
        reach("change.begun")
        # A lost attempt may have changed either calendar.
        _write(change, meeting, list(meeting.users) if earlier else [], context)
    return change, meeting


def _write(change: Change, meeting: Meeting, written: list[users.DirectoryUser], context: ToolContext) -> None:
    try:
        calendars = write_change(change, meeting, written, monotonic() + context.remaining_s * WRITING)
    except (ToolFailed, Unavailable, TimeoutError) as error:
        # After a timeout a slow server may still change the meeting, so leave it to `clean_up`, which comes later.
        if not (written and isinstance(error, TimeoutError)):
            undo_change(change, meeting, written, context.deadline)
        raise
    with ledger() as db:
        changes.finish(db, change, [calendar.user.id for calendar in calendars if calendar.is_ours], meeting.title)
        for kind in (CONFIRMED, _MOVED):
            settle(db, context.tenant_id, kind, {"session_id": str(meeting.session.id)}, "changed")
        notify(db, context.tenant_id, _notice(change, meeting))
    reach("change.done")


def _meant(db: Transaction, query: MeetingChoice, context: ToolContext) -> Meeting:
    """Return the meeting that the user means, with its session locked.

    Raises:
        NotFound: there is none.
        NeedsInput: there are several.
        Conflict: it has just been changed.
    """
    user_id = context.user["id"]
    arranged = changes.arranged(db, context.tenant_id, user_id, datetime.now(UTC))
    known = (meeting_of(db, each, user_id) for each in arranged)
    found = [meeting for meeting in known if _fits(meeting, query)]
    if not found:
        raise NotFound("the user has no such meeting")
    if len(found) > 1:
        raise NeedsInput({"at": [told(_time_of(meeting), meeting.tz)[0] for meeting in found]})
    session = meetings.locked(db, found[0].session)
    if (session.status, session.chosen) != ("confirmed", found[0].session.chosen):
        raise Conflict("this meeting has just been changed")
    return replace(found[0], session=session)


def _fits(meeting: Meeting, query: MeetingChoice) -> bool:
    """Whether a query may mean a meeting."""
    named = (query.counterpart or "").casefold()
    is_named = named in meeting.other.name.casefold() or named == (meeting.other.email or "").casefold()
    if query.at is None or not is_named:
        return is_named
    zone = ZoneInfo(meeting.tz)
    starts, asked = _time_of(meeting).starts, read_time(query.at, zone)
    return starts == asked or ("T" not in query.at and starts.astimezone(zone).date() == asked.astimezone(zone).date())


def _new_time(db: Transaction, meeting: Meeting, query: MeetingMove) -> Interval:
    """Return the new time of a meeting.

    Raises:
        ToolFailed: it is not possible.
    """
    known = users.connections_of(db, meeting.session.tenant_id, meeting.organizer.id)
    if not any(each.is_active for each in known if each.user.id == meeting.counterpart.id):
        raise ToolFailed("the connection between the two users is switched off", code="CONNECTION_INACTIVE")
    before, zone = _time_of(meeting), ZoneInfo(meeting.tz)
    local = before.starts.astimezone(zone)
    new_time = local.time() if query.new_time is None else time.fromisoformat(query.new_time)
    starts = datetime.combine(query.new_day or local.date(), new_time, zone).astimezone(UTC)
    if starts == before.starts:
        raise ToolFailed("the meeting is at this time already", code="CONFLICT")
    if starts <= datetime.now(UTC):
        raise ToolFailed("this time has passed", code="VALIDATION_ERROR")
    return Interval(starts, starts + (before.ends - before.starts))


def _time_of(meeting: Meeting) -> Interval:
    assert meeting.session.chosen is not None, "a confirmed meeting has a time"
    return meeting.session.chosen


def _done(context: ToolContext) -> tuple[Change, Meeting] | None:
    """Return the change that the call has made; None if it has made none."""
    with ledger() as db:
        change = changes.of_key(db, context.tenant_id, context.idempotency_key)
        if change is None or not change.is_done:
            return None
        return change, meeting_of(db, change.session, context.user["id"])


def _notice(change: Change, meeting: Meeting) -> Notice:
    before, after = (at and in_words(at, meeting.other.timezone) for at in (change.before, change.after))
    return Notice(
        user_id=meeting.other.id,
        kind=_MOVED if after else _CANCELLED,
        title=f"{meeting.actor.name} has {'moved' if after else 'cancelled'} your meeting",
        body=f"{meeting.title}: {after}, instead of {before}." if after else f"{meeting.title}: it was {before}.",
        about={"session_id": str(meeting.session.id), "uid": meeting.session.uid},
        conversation_id=meeting.session.conversation_id,
    )


def _moved(change: Change, meeting: Meeting) -> MovedMeeting:
    assert change.after is not None, "a moved meeting has a new time"
    start, end = told(change.before, meeting.tz)
    now = meeting.at(change.after, change.sequence)
    return MovedMeeting(**facts_of(now, invitation(now)), previous_start=start, previous_end=end)


def _cancelled(change: Change, meeting: Meeting) -> CancelledMeeting:
    gone = meeting.at(change.before, change.sequence)
    return CancelledMeeting(**facts_of(gone, cancellation(gone)))
