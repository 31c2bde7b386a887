"""What tools tell about a meeting."""

from typing import Any
from uuid import UUID

from turnloom.models.contracts.artifact import Card, CardArtifact, Fact
from turnloom.models.contracts.base import Contract
from turnloom.tools.packs.meetings.invites import Meeting
from turnloom.tools.packs.meetings.times import told


class MeetingFacts(Contract):
    """A meeting, as the user sees it."""

    session_id: UUID
    """The session that proposed it."""
    title: str
    """Title of the meeting in both calendars."""
    counterpart: str
    """Name of the person whom the user meets. That person is notified."""
    counterpart_user_id: str
    """User id of that person."""
    connection_id: UUID
    """The connection between the two users."""
    start: str
    """Start of the meeting, RFC 3339, with the offset of `tz`."""
    end: str
    """End of the meeting, in the same form."""
    tz: str
    """IANA name of the time zone."""
    duration_mins: int
    """Length of the meeting in minutes."""
    uid: str
    """The iCalendar UID of the event in both calendars."""
    invite: str
    """What the counterpart would get by e-mail, as iCalendar, for an .ics file."""


def facts_of(meeting: Meeting, invite: str) -> dict[str, Any]:
    """Return the fields of `MeetingFacts`."""
    session = meeting.session
    assert session.chosen is not None, "a held meeting has a time"
    start, end = told(session.chosen, meeting.tz)
    return {
        "session_id": session.id,
        "title": meeting.title,
        "counterpart": meeting.other.name,
        "counterpart_user_id": meeting.other.id,
        "connection_id": session.connection_id,
        "start": start,
        "end": end,
        "tz": meeting.tz,
        "duration_mins": round((session.chosen.ends - session.chosen.starts).total_seconds() / 60),
        "uid": session.uid,
        "invite": invite,
    }


def card(meeting: MeetingFacts) -> CardArtifact:
    """Return the card of a meeting."""
    shown = {"with": meeting.counterpart, "from": meeting.start, "to": meeting.end, "time zone": meeting.tz}
    facts = [Fact(label=label, value=value) for label, value in shown.items()]
    return CardArtifact(title=meeting.title, data=Card(facts=facts))
