"""`network.schedule_meeting`: propose times that suit the user and somebody they know, and keep them in a session."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from uuid import UUID
from zoneinfo import ZoneInfo

from pydantic import Field

from turnloom.models.contracts.artifact import Table, TableArtifact
from turnloom.models.contracts.base import Contract, Moment
from turnloom.models.contracts.time_zone import TimezoneHint
from turnloom.models.errors import NeedsInput, ToolFailed
from turnloom.models.ledger import users
from turnloom.models.ledger.users import Contact, DirectoryUser
from turnloom.tools.context import ToolContext
from turnloom.tools.packs.meetings.dav import open_calendars
from turnloom.tools.packs.meetings.free_busy import busy_times
from turnloom.tools.packs.meetings.invites import Meeting
from turnloom.tools.packs.meetings.proposals import NOTICE, Person, propose
from turnloom.tools.packs.meetings.records import ledger, tell_proposal
from turnloom.tools.packs.meetings.store import calendars, meetings
from turnloom.tools.packs.meetings.store.calendars import Interval
from turnloom.tools.packs.meetings.store.meetings import MeetingSession, Wish
from turnloom.tools.packs.meetings.times import When, read_time, told
from turnloom.tools.registry import tool

LOOKS_AHEAD = timedelta(days=14)
"""Length of the window if the user does not name its end."""
LONGEST_WINDOW = timedelta(days=62)


class MeetingQuery(Contract):
    """A wish to meet: the other person, the length and the approximate time."""

    counterpart: str | None = Field(None, min_length=1, max_length=320)
    """The person to meet: a name or e-mail address in the user's words, no id. Null: the user is asked."""
    duration_mins: int | None = Field(None, ge=5, le=240)
    """Length in minutes, 5-240. Null: the user is asked."""
    start_window: When | None = None
    """Earliest start: a time with an offset, a time in `tz_hint`, or a day. Null: from now on."""
    end_window: When | None = None
    """Latest end, in the same forms; a day counts to its end. Null: two weeks after the start."""
    tz_hint: TimezoneHint = None
    """IANA name of the time zone of the times. Null, or an unknown one: the user's own."""


class Proposal(Contract):
    """A time at which both people work and neither is busy."""

    start: str
    """Start, RFC 3339, with the offset of `tz`."""
    end: str
    """End, in the same form."""
    tz: str
    """IANA name of the time zone."""


class Proposals(Contract):
    """Times to choose from. network.confirm_meeting takes the number of the chosen one, counted from 1."""

    session_id: UUID | None
    """The session that keeps these proposals for half an hour; null if no time was found."""
    proposals: list[Proposal]
    """At most four times, in order. Empty if no time suits both: the user may name a later end or a shorter meeting."""
    counterpart: str
    """Name of the person whom the user would meet."""
    counterpart_user_id: str
    """User id of that person."""
    connection_id: UUID
    """The connection between the two users."""
    duration_mins: int
    """Length of the meeting in minutes."""
    tz: str
    """IANA name of the time zone in which the times are shown."""
    expires_at: Moment | None
    """When the proposals expire; null if no time was found."""


def _table(proposed: Proposals) -> TableArtifact | None:
    if not proposed.proposals:
        return None
    rows: list[list[str | int | float | bool | None]] = [
        [number, *(f"{datetime.fromisoformat(at):%a %d %b %Y %H:%M}" for at in (each.start, each.end))]
        for number, each in enumerate(proposed.proposals, 1)
    ]
    columns = ["#", "From", "To ({tz})"]
    return TableArtifact(title="Times to meet {counterpart}", data=Table(columns=columns, rows=rows))


def find_proposed(_: MeetingQuery, context: ToolContext) -> Proposals | None:
    """Return the proposals of the call; None if it has opened no session."""
    with ledger() as db:
        session = meetings.opened(db, context.tenant_id, context.idempotency_key)
        counterpart = users.get_user(db, context.tenant_id, session.counterpart_id) if session else None
    return None if session is None or counterpart is None else _proposals(session, counterpart)


@tool(
    "network.schedule_meeting",
    effect="write",
    timeout_s=20,
    scopes=frozenset({"calendar.availability.read", "calendar.events.propose"}),
    per_user="30/minute",
    reconcile=find_proposed,
    artifact=_table,
    deeds=frozenset({"proposed"}),
    asks=("counterpart", "duration_mins"),
    # If two people have the same name, the choice between them shows their addresses, which the user knows anyway.
    public=frozenset({"counterpart"}),
    errors=(
        *("NOT_FOUND", "CONFLICT", "VALIDATION_ERROR", "CONNECTION_INACTIVE", "REAUTH_REQUIRED"),
        *("RATE_LIMITED", "UPSTREAM_4XX", "UPSTREAM_5XX"),
    ),
    extra="calendars",
)
def schedule_meeting(query: MeetingQuery, context: ToolContext) -> Proposals:
    """Propose times for a meeting with somebody the user knows, from both calendars. Books nothing yet.

    Raises:
        NeedsInput: the person or the length is missing, or several people have that name.
        ToolFailed: NOT_FOUND, the user knows no such person; VALIDATION_ERROR, the window is past or too long;
            CONFLICT, the same was proposed and is still open; CONNECTION_INACTIVE, REAUTH_REQUIRED, UPSTREAM_4XX.
        Unavailable: RATE_LIMITED or UPSTREAM_5XX of a calendar server; nothing was done.
        TimeoutError: a calendar server did not answer in time; nothing was done.
    """
    counterpart, duration_mins = query.counterpart, query.duration_mins
    if counterpart is None or duration_mins is None:
        raise NeedsInput({name: True for name in ("counterpart", "duration_mins") if getattr(query, name) is None})
    with ledger() as db:
        organizer = users.get_user(db, context.tenant_id, context.user["id"])
        contact = _meant(users.contacts(db, context.tenant_id, organizer.id, counterpart), counterpart)
    tz = query.tz_hint or context.user.get("timezone") or organizer.timezone
    window = _window(query, ZoneInfo(tz), datetime.now(UTC))
    people = _people((organizer, contact.user), window, context)
    wish = Wish(
        user_id=organizer.id,
        counterpart_id=contact.user.id,
        connection_id=contact.connection_id,
        conversation_id=context.conversation_id,
        duration_mins=duration_mins,
        wanted=query.model_dump(include={"duration_mins", "start_window", "end_window", "tz_hint"}),
        tz=tz,
    )
    times = propose(window, timedelta(minutes=duration_mins), people, ZoneInfo(tz))
    if not times:
        return _no_time(wish, contact.user)
    with ledger() as db:
        calendars.lock(db, context.tenant_id, (organizer.id, contact.user.id))
        known = meetings.opened(db, context.tenant_id, context.idempotency_key)
        session = meetings.open_session(db, context.tenant_id, context.idempotency_key, wish, times)
        if known is None:
            tell_proposal(db, Meeting(session, organizer, contact.user))
    return _proposals(session, contact.user)


def _meant(found: list[Contact], counterpart: str) -> Contact:
    if not found:
        raise ToolFailed(f"the user knows nobody called {counterpart!r}", code="NOT_FOUND")
    if len(found) > 1:
        names = Counter(contact.user.name for contact in found)
        raise NeedsInput({"counterpart": [_choice(contact.user, names) for contact in found]})
    if not found[0].is_active:
        raise ToolFailed(f"the connection with {found[0].user.name} is switched off", code="CONNECTION_INACTIVE")
    return found[0]


def _choice(user: DirectoryUser, names: Counter[str]) -> str:
    return f"{user.name} <{user.email}>" if names[user.name] > 1 and user.email else user.name


def _window(query: MeetingQuery, zone: ZoneInfo, now: datetime) -> Interval:
    starts = read_time(query.start_window, zone) if query.start_window else now
    starts = max(starts, now + NOTICE)
    ends = read_time(query.end_window, zone, is_end=True) if query.end_window else starts + LOOKS_AHEAD
    if ends <= starts:
        message = "the window ends before a meeting could begin: ask for later times"
        raise ToolFailed(message, code="VALIDATION_ERROR", cause={"kind": "window_over"})
    if ends - starts > LONGEST_WINDOW:
        message = f"the window is longer than {LONGEST_WINDOW.days} days: ask for a shorter one"
        cause: dict[str, str | int] = {"kind": "window_too_long", "days": LONGEST_WINDOW.days}
        raise ToolFailed(message, code="VALIDATION_ERROR", cause=cause)
    return Interval(starts, ends)


def _people(users: tuple[DirectoryUser, DirectoryUser], window: Interval, context: ToolContext) -> list[Person]:
    """Return the organizer and the counterpart, with their busy times."""
    calendars = open_calendars(context.tenant_id, users, context.deadline, owner=users[0])
    return [
        Person(zone=ZoneInfo(user.timezone), working_hours=user.working_hours, busy=busy)
        for user, busy in zip(users, busy_times(calendars, window), strict=True)
    ]


def _proposals(session: MeetingSession, counterpart: DirectoryUser) -> Proposals:
    times = [told(proposal, session.tz) for proposal in session.proposals]
    return Proposals(
        session_id=session.id,
        proposals=[Proposal(start=start, end=end, tz=session.tz) for start, end in times],
        counterpart=counterpart.name,
        counterpart_user_id=counterpart.id,
        connection_id=session.connection_id,
        duration_mins=session.duration_mins,
        tz=session.tz,
        expires_at=session.expires_at,
    )


def _no_time(wish: Wish, counterpart: DirectoryUser) -> Proposals:
    return Proposals(
        session_id=None,
        proposals=[],
        counterpart=counterpart.name,
        counterpart_user_id=counterpart.id,
        connection_id=wish.connection_id,
        duration_mins=wish.duration_mins,
        tz=wish.tz,
        expires_at=None,
    )
