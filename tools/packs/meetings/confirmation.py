"""`network.confirm_meeting`: write a proposed time, or another one, into both calendars, or into none.

Either of the two may confirm: the user who asked for times in the conversation where they were proposed, and the
counterpart in any of her own.

1. Hold: under the lock of both users, the time is taken in our own calendars, and the session becomes `confirming`.
   From here on, the session records the intent, which outlives this process.
2. Write: both calendars are checked once more, and the meeting is written into each under the same uid.
3. Finish: one commit makes the meeting final and notifies the other user.

If a step fails, the earlier ones are undone. If the process is lost, the session remains. The same call made again
continues it, otherwise `calendar_entries.clean_up` undoes it.
"""

import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID
from zoneinfo import ZoneInfo

from pydantic import ConfigDict, Field, JsonValue

from turnloom.models.connections.database import Transaction
from turnloom.models.contracts.base import Contract
from turnloom.models.errors import NeedsInput, NotFound, ToolFailed, Unavailable
from turnloom.models.ledger import users
from turnloom.models.ledger.notifications import Notice, notify
from turnloom.models.runtime.crash_points import reach
from turnloom.tools.context import ToolContext
from turnloom.tools.packs.meetings.calendar_entries import LOST_AFTER, WRITING, clean_up, undo, write
from turnloom.tools.packs.meetings.invites import Meeting, invitation
from turnloom.tools.packs.meetings.meeting_facts import MeetingFacts, card, facts_of
from turnloom.tools.packs.meetings.records import CONFIRMED, ledger, meeting_of, settle_proposal
from turnloom.tools.packs.meetings.store import meetings
from turnloom.tools.packs.meetings.store.calendars import Interval
from turnloom.tools.packs.meetings.store.meetings import MeetingSession
from turnloom.tools.packs.meetings.times import When, in_words, read_time, told
from turnloom.tools.registry import tool

_FOR_PROGRAMS: dict[str, JsonValue] = {"x-for-programs": True}
_SHORTEST, _LONGEST = timedelta(minutes=5), timedelta(minutes=240)


class ProposalChoice(Contract):
    """The time that the user chose."""

    model_config = ConfigDict(title="Choice")

    session_id: UUID | None = Field(None, json_schema_extra=_FOR_PROGRAMS)
    """The session that network.schedule_meeting returned; null for the last one of this conversation, or for times that
    somebody else has proposed to the user."""
    counterpart: str | None = Field(None, min_length=1, max_length=320)
    """Name of the person whose proposal the user accepts, if several people have proposed times."""
    selection_number: int | None = Field(None, ge=1, le=9)
    """Number of the chosen proposal as people count: "option 2" and "the second one" are 2."""
    selection_index: int | None = Field(None, ge=0, le=8, json_schema_extra=_FOR_PROGRAMS)
    """Instead of the number: its index in `proposals`, where the first is 0."""
    start_time: When | None = None
    """Instead of the number: the start of a proposal, or of another time that the user wants."""
    end_time: When | None = None
    """End of that time, if the user names it. Null: as long as the proposals."""


class ConfirmedMeeting(MeetingFacts):
    """A meeting that is in both calendars."""


def find_confirmed(_: ProposalChoice, context: ToolContext) -> ConfirmedMeeting | None:
    """Return the meeting that the call has confirmed. Otherwise return None: made again, the call goes on."""
    with ledger() as db:
        session = meetings.confirmed(db, context.tenant_id, context.idempotency_key)
        return None if session is None else _told(meeting_of(db, session, context.user["id"]))


@tool(
    "network.confirm_meeting",
    effect="write",
    timeout_s=30,
    scopes=frozenset({"calendar.events.write"}),
    per_user="30/minute",
    reconcile=find_confirmed,
    clean_up=clean_up,
    artifact=card,
    deeds=frozenset({"confirmed", "scheduled", "sent", "notified"}),
    # The invitation contains the e-mail addresses of both.
    redact=frozenset({"invite"}),
    asks=("selection_number", "counterpart"),
    errors=(
        *("NOT_FOUND", "CONFLICT", "VALIDATION_ERROR", "CONNECTION_INACTIVE", "REAUTH_REQUIRED"),
        *("RATE_LIMITED", "UPSTREAM_4XX", "UPSTREAM_5XX"),
    ),
    extra="calendars",
)
def confirm_meeting(query: ProposalChoice, context: ToolContext) -> ConfirmedMeeting:
    """Confirm a time that was proposed to or by the user, or another one, and write it into both calendars.

    Raises:
        NeedsInput: the user must choose one of the times, or whose proposal is meant.
        ToolFailed: NOT_FOUND, nothing was proposed here or it has expired; CONFLICT, the time has been taken, or the
            session is confirmed or being confirmed otherwise; VALIDATION_ERROR, it is none of the proposed times, or
            another time is past, too short or too long;
            CONNECTION_INACTIVE, REAUTH_REQUIRED, UPSTREAM_4XX.
        Unavailable: RATE_LIMITED or UPSTREAM_5XX of a calendar server.
        TimeoutError: a calendar server did not answer in time.
    """
    with ledger() as db:
        before = _asked_for(db, query, context)
        if before.status == "confirmed":
            return _told(meeting_of(db, before, context.user["id"]))
        meeting = _hold(db, before, query, context)
    reach("meeting.held")
    # A lost attempt may have written into either calendar.
    written = list(meeting.users) if before.status == "confirming" else []
    try:
        calendars = write(meeting, written, time.monotonic() + context.remaining_s * WRITING)
    except (ToolFailed, Unavailable, TimeoutError) as error:
        # After a timeout a slow server may still write the meeting, so leave it to `clean_up`, which comes later.
        if not (written and isinstance(error, TimeoutError)):
            undo(meeting, written, context.deadline)
        raise
    with ledger() as db:
        meetings.finish(db, meeting.session, [calendar.user.id for calendar in calendars if calendar.is_ours])
        notify(db, context.tenant_id, _notice(meeting))
        settle_proposal(db, meeting.session)
    reach("meeting.confirmed")
    return _told(meeting)


def _asked_for(db: Transaction, query: ProposalChoice, context: ToolContext) -> MeetingSession:
    """Return the locked session if this call may confirm it, or if it is confirmed with this choice."""
    session = _session(db, query, context)
    if session.status == "confirmed" and _chosen(meeting_of(db, session, context.user["id"]), query) != session.chosen:
        raise ToolFailed("another of these times has already been confirmed", code="CONFLICT")
    if session.status == "confirming" and session.confirm_key != context.idempotency_key:
        raise ToolFailed("another call is confirming this meeting right now", code="CONFLICT")
    if session.is_expired or session.status == "cancelled":
        raise ToolFailed("these proposals are no longer valid: look for times again", code="NOT_FOUND")
    return session


def _session(db: Transaction, query: ProposalChoice, context: ToolContext) -> MeetingSession:
    """Return the locked session that is meant: one of the user's in this conversation, or one that is offered to her.

    Raises:
        NotFound: there is none.
    """
    user_id = context.user["id"]
    offered = meetings.offered(db, context.tenant_id, user_id, query.session_id)
    names = {each.id: users.get_user(db, context.tenant_id, each.user_id).name for each in offered}
    if query.counterpart is not None:
        offered = [each for each in offered if query.counterpart.casefold() in names[each.id].casefold()]
    own = meetings.last(db, context.tenant_id, user_id, context.conversation_id, query.session_id)
    if own is not None and not (offered and (own.is_over or query.counterpart is not None)):
        return own
    if len(offered) > 1:
        raise NeedsInput({"counterpart": [names[each.id] for each in offered]})
    if not offered:
        raise NotFound("no times were proposed for a meeting in this conversation")
    return meetings.locked(db, offered[0])


def _hold(db: Transaction, session: MeetingSession, query: ProposalChoice, context: ToolContext) -> Meeting:
    known = users.connections_of(db, context.tenant_id, session.user_id)
    if not any(each.is_active for each in known if each.user.id == session.counterpart_id):
        raise ToolFailed("the connection between the two users is switched off", code="CONNECTION_INACTIVE")
    meeting = meeting_of(db, session, context.user["id"])
    chosen = _chosen(meeting, query)
    if chosen not in session.proposals:
        _check(chosen)
    lasts = timedelta(seconds=context.remaining_s) + LOST_AFTER
    held = meetings.hold(db, session, chosen, context.idempotency_key, lasts, meeting.title)
    return replace(meeting, session=held)


def _check(custom: Interval) -> None:
    """Refuse a time of the user's own that no meeting can have."""
    if custom.starts <= datetime.now(UTC):
        raise ToolFailed("this time has passed", code="VALIDATION_ERROR", cause={"kind": "time_over"})
    if not _SHORTEST <= custom.ends - custom.starts <= _LONGEST:
        cause: dict[str, str | int] = {"kind": "meeting_length", "least": 5, "most": 240}
        raise ToolFailed("a meeting lasts from 5 to 240 minutes", code="VALIDATION_ERROR", cause=cause)


def _chosen(meeting: Meeting, query: ProposalChoice) -> Interval:
    """Return the proposal that the user chose, or the time that she wants instead."""
    session, proposals = meeting.session, meeting.session.proposals
    is_counted = (query.selection_number, query.selection_index) != (None, None)
    if not is_counted and query.start_time is None:
        if len(proposals) == 1:
            return proposals[0]
        raise NeedsInput({"selection_number": [in_words(each, meeting.tz) for each in proposals]})
    zone = ZoneInfo(meeting.tz)
    starts, ends = (read_time(at, zone) if at else None for at in (query.start_time, query.end_time))
    for index, proposal in enumerate(proposals):
        counted = ((query.selection_number, index + 1), (query.selection_index, index))
        wanted = (*counted, (starts, proposal.starts), (ends, proposal.ends))
        if all(asked in (None, offered) for asked, offered in wanted):
            return proposal
    if not is_counted and starts is not None:
        return Interval(starts, ends or starts + timedelta(minutes=session.duration_mins))
    message = "this is not one of the proposed times"
    raise ToolFailed(message, code="VALIDATION_ERROR", cause={"kind": "not_proposed"})


def _notice(meeting: Meeting) -> Notice:
    session, other = meeting.session, meeting.other
    assert session.chosen is not None
    start, end = told(session.chosen, session.tz)
    when = in_words(session.chosen, other.timezone)
    return Notice(
        user_id=other.id,
        kind=CONFIRMED,
        title=f"{meeting.actor.name} meets you",
        body=f"{meeting.title}: {when}. It is in your calendar.",
        about={"session_id": str(session.id), "uid": session.uid, "start": start, "end": end},
        conversation_id=session.conversation_id,
    )


def _told(meeting: Meeting) -> ConfirmedMeeting:
    return ConfirmedMeeting(**facts_of(meeting, invitation(meeting)))
