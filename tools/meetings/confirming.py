"""`network.confirm_meeting`: one of the proposed times, written into both calendars or into none.

1. Hold: under the lock of both users, the time is taken in our own calendars, and the session says `confirming`. From
   here on the session is the intent that outlives us.
2. Write: both calendars are looked at once more, and the meeting written into each, under the same uid.
3. Finish: what is held becomes final, and the counterpart is told, in one commit.

Whatever fails on the way is undone. Who is lost on the way leaves the session behind: the same call, made again, goes
on with it, else `writing.clean_up` undoes it.
"""

import time
from dataclasses import replace
from datetime import timedelta
from uuid import UUID
from zoneinfo import ZoneInfo

from pydantic import Field

from models.contracts.artifact import Card, CardArtifact, Fact
from models.contracts.base import Contract
from models.crash_points import reach
from models.database import Transaction
from models.errors import NeedsInput, ToolFailed, Unavailable
from models.ledger import meetings, users
from models.ledger.calendars import Interval
from models.ledger.meetings import MeetingSession
from models.ledger.notifications import Notice, notify
from tools.context import ToolContext
from tools.meetings.invites import Meeting, invitation
from tools.meetings.records import ledger, meeting_of
from tools.meetings.times import When, in_words, read_time, told
from tools.meetings.writing import clean_up, undo, write
from tools.registry import tool

_LOST_AFTER = timedelta(seconds=30)
"""Beyond its deadline a call that is still confirming counts as lost."""
_WRITING = 2 / 3
"""Of the time left; the rest is for undoing it."""


class Choice(Contract):
    """The proposed time that the user chose."""

    session_id: UUID | None = None
    """The session that network.schedule_meeting returned; null for the last one of this conversation."""
    selection_index: int | None = Field(None, ge=1, le=9)
    """Number of the proposal as it was listed: the first is 1, so "option 2" is 2."""
    start_time: When | None = None
    """Or when it starts: one of the proposed starts."""
    end_time: When | None = None
    """When it ends, where the user says so."""


class ConfirmedMeeting(Contract):
    """A meeting that stands in both calendars."""

    session_id: UUID
    """The session it came from."""
    title: str
    """What it is called in both calendars."""
    counterpart: str
    """Name of whom the user meets. They are notified."""
    counterpart_user_id: str
    """Their id."""
    connection_id: UUID
    """The connection between the two."""
    start: str
    """RFC 3339, with the offset of `tz`."""
    end: str
    """The same."""
    tz: str
    """IANA name of the time zone."""
    duration_mins: int
    """How long it lasts, in minutes."""
    uid: str
    """The event's name in iCalendar, in both calendars."""
    invite: str
    """The invitation as iCalendar, for an .ics file."""


def _card(meeting: ConfirmedMeeting) -> CardArtifact:
    shown = {"with": meeting.counterpart, "from": meeting.start, "to": meeting.end, "time zone": meeting.tz}
    facts = [Fact(label=label, value=value) for label, value in shown.items()]
    return CardArtifact(title=meeting.title, data=Card(facts=facts))


def find_confirmed(_: Choice, context: ToolContext) -> ConfirmedMeeting | None:
    """Return the meeting that the call has confirmed; None otherwise: made again, it goes on where it was lost."""
    with ledger() as db:
        session = meetings.confirmed(db, context.tenant_id, context.conversation_id, context.idempotency_key)
        return None if session is None else _told(meeting_of(db, session))


@tool(
    "network.confirm_meeting",
    effect="write",
    timeout_s=30,
    scopes=frozenset({"calendar.events.write"}),
    per_user="30/minute",
    reconcile=find_confirmed,
    clean_up=clean_up,
    artifact=_card,
    # It has everybody's address.
    redact=frozenset({"invite"}),
    asks=("selection_index",),
    errors=(
        *("NOT_FOUND", "CONFLICT", "VALIDATION_ERROR", "CONNECTION_INACTIVE", "REAUTH_REQUIRED"),
        *("RATE_LIMITED", "UPSTREAM_4XX", "UPSTREAM_5XX"),
    ),
)
def confirm_meeting(query: Choice, context: ToolContext) -> ConfirmedMeeting:
    """Confirm one of the times that network.schedule_meeting has proposed: it is written into both calendars.

    Raises:
        NeedsInput: which of them.
        ToolFailed: NOT_FOUND, nothing was proposed here or it has expired; CONFLICT, the time was taken meanwhile;
            VALIDATION_ERROR, it is none of the proposed times; CONNECTION_INACTIVE, REAUTH_REQUIRED, UPSTREAM_4XX.
        Unavailable: RATE_LIMITED or UPSTREAM_5XX of a calendar server.
        TimeoutError: a calendar server did not answer in time.
    """
    with ledger() as db:
        before = _asked_for(db, query, context)
        if before.status == "confirmed":
            return _told(meeting_of(db, before))
        meeting = _hold(db, before, query, context)
    reach("meeting.held")
    # Of an attempt that was lost nobody knows what it has written.
    written = list(meeting.users) if before.status == "confirming" else []
    try:
        calendars = write(meeting, written, time.monotonic() + context.remaining_s * _WRITING)
    except (ToolFailed, Unavailable, TimeoutError) as error:
        # A server that is slow may do later what it was asked to: by the time of `clean_up` it has done so.
        if not (written and isinstance(error, TimeoutError)):
            undo(meeting, written, context.deadline)
        raise
    with ledger() as db:
        meetings.finish(db, meeting.session, [calendar.user.id for calendar in calendars if calendar.is_ours])
        notify(db, context.tenant_id, _notice(meeting))
    reach("meeting.confirmed")
    return _told(meeting)


def _asked_for(db: Transaction, query: Choice, context: ToolContext) -> MeetingSession:
    """Return the session, locked, if it can be confirmed by this call or is confirmed with this choice."""
    user_id, conversation_id = context.user["id"], context.conversation_id
    session = meetings.get(db, context.tenant_id, user_id, conversation_id, query.session_id)
    if session.status == "confirmed" and _chosen(session, query) != session.chosen:
        raise ToolFailed("another of these times has been confirmed", code="CONFLICT")
    if session.status == "confirming" and session.confirm_key != context.idempotency_key:
        raise ToolFailed("this meeting is being confirmed at this moment", code="CONFLICT")
    if session.is_expired or session.status == "cancelled":
        raise ToolFailed("these proposals no longer hold: look for times again", code="NOT_FOUND")
    return session


def _hold(db: Transaction, session: MeetingSession, query: Choice, context: ToolContext) -> Meeting:
    known = users.connections_of(db, context.tenant_id, session.user_id)
    if not any(each.is_active for each in known if each.user.id == session.counterpart_id):
        raise ToolFailed("the connection of the two is switched off", code="CONNECTION_INACTIVE")
    meeting = meeting_of(db, session)
    lasts = timedelta(seconds=context.remaining_s) + _LOST_AFTER
    held = meetings.hold(db, session, _chosen(session, query), context.idempotency_key, lasts, meeting.title)
    return replace(meeting, session=held)


def _chosen(session: MeetingSession, query: Choice) -> Interval:
    """Return the proposal that is meant."""
    proposals = session.proposals
    if query.selection_index is None and query.start_time is None:
        if len(proposals) == 1:
            return proposals[0]
        raise NeedsInput({"selection_index": [in_words(each, session.tz) for each in proposals]})
    zone = ZoneInfo(session.tz)
    starts, ends = (at and read_time(at, zone) for at in (query.start_time, query.end_time))
    for number, proposal in enumerate(proposals, 1):
        wanted = ((query.selection_index, number), (starts, proposal.starts), (ends, proposal.ends))
        if all(asked in (None, offered) for asked, offered in wanted):
            return proposal
    raise ToolFailed("that is none of the proposed times", code="VALIDATION_ERROR")


def _notice(meeting: Meeting) -> Notice:
    session, counterpart = meeting.session, meeting.counterpart
    start, end = _time_of(session)
    assert session.chosen is not None
    when = in_words(session.chosen, counterpart.timezone)
    return Notice(
        user_id=counterpart.id,
        kind="meeting.confirmed",
        title=f"{meeting.organizer.name} meets you",
        body=f"{meeting.title}: {when}. It is in your calendar.",
        about={"session_id": str(session.id), "uid": session.uid, "start": start, "end": end},
        conversation_id=session.conversation_id,
    )


def _time_of(session: MeetingSession) -> tuple[str, str]:
    assert session.chosen is not None, "a meeting that is held has a time"
    return told(session.chosen, session.tz)


def _told(meeting: Meeting) -> ConfirmedMeeting:
    session = meeting.session
    start, end = _time_of(session)
    return ConfirmedMeeting(
        session_id=session.id,
        title=meeting.title,
        counterpart=meeting.counterpart.name,
        counterpart_user_id=meeting.counterpart.id,
        connection_id=session.connection_id,
        start=start,
        end=end,
        tz=session.tz,
        duration_mins=session.duration_mins,
        uid=session.uid,
        invite=invitation(meeting),
    )
