"""A meeting as iCalendar: as the event in a calendar (RFC 5545), and as an invitation (RFC 5546)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from turnloom.models.ledger.users import DirectoryUser
from turnloom.tools.packs.meetings.store.calendars import Interval
from turnloom.tools.packs.meetings.store.meetings import MeetingSession

if TYPE_CHECKING:
    from icalendar import Event


@dataclass(frozen=True, slots=True)
class Meeting:
    """A meeting's session and its two users."""

    session: MeetingSession
    organizer: DirectoryUser
    counterpart: DirectoryUser
    acts: str | None = None
    """Id of the one of them who asks; None: the organizer."""
    sequence: int = 0
    """Number of its changes: the SEQUENCE of its event."""

    @property
    def actor(self) -> DirectoryUser:
        """The user who asks."""
        return self.counterpart if self.acts == self.counterpart.id else self.organizer

    @property
    def other(self) -> DirectoryUser:
        """The user who does not ask."""
        return self.organizer if self.actor is self.counterpart else self.counterpart

    @property
    def tz(self) -> str:
        """The time zone in which the one who asks means and sees times."""
        return self.counterpart.timezone if self.actor is self.counterpart else self.session.tz

    @property
    def users(self) -> tuple[DirectoryUser, DirectoryUser]:
        """The two users who meet."""
        return self.organizer, self.counterpart

    def at(self, time: Interval, sequence: int) -> "Meeting":
        """Return the meeting at a time that it has after so many changes."""
        return replace(self, session=replace(self.session, chosen=time), sequence=sequence)

    @property
    def title(self) -> str:
        """The title in both calendars."""
        return f"Meeting of {self.organizer.name} and {self.counterpart.name}"


def invitation(meeting: Meeting) -> str:
    """Return the invitation as the text of an .ics file."""
    return _calendar(meeting, {}, method="REQUEST")


def cancellation(meeting: Meeting) -> str:
    """Return what takes an invitation back, as the text of an .ics file."""
    return _calendar(meeting, {}, method="CANCEL")


def calendar_object(meeting: Meeting) -> str:
    """Return the meeting as a calendar server stores it, without a METHOD (RFC 4791, section 4.1)."""
    # We write both calendars. A server that also sent invitations would add the meeting twice (RFC 6638, section 7.1).
    return _calendar(meeting, {"SCHEDULE-AGENT": "CLIENT"})


def _calendar(meeting: Meeting, delivery: Mapping[str, str], **head: str) -> str:
    """Write the meeting as iCalendar. Every attempt gives the same text, so writing it again changes nothing.

    `delivery` holds parameters that each address gets. `head` holds further properties of the calendar.
    """
    from icalendar import Calendar  # noqa: PLC0415 - takes 0.15 s, and only processes that write meetings need it

    calendar = Calendar()
    for name, value in {"prodid": "-//Turnloom//Meetings//EN", "version": "2.0", **head}.items():
        calendar.add(name, value)
    calendar.add_component(_event(meeting, delivery, "CANCELLED" if head.get("method") == "CANCEL" else "CONFIRMED"))
    return str(calendar.to_ical(), "utf-8")


def _event(meeting: Meeting, delivery: Mapping[str, str], status: str) -> "Event":
    from icalendar import Event, vCalAddress  # noqa: PLC0415 - see above

    session = meeting.session
    assert session.chosen is not None, "a written meeting has a time"
    event = Event()
    facts = {"uid": session.uid, "sequence": meeting.sequence, "dtstamp": session.created_at, "status": status}
    facts |= {"dtstart": session.chosen.starts, "dtend": session.chosen.ends, "summary": _printable(meeting.title)}
    roles: list[tuple[str, DirectoryUser, dict[str, str]]] = [("organizer", meeting.organizer, {})]
    roles += [("attendee", meeting.organizer, {"PARTSTAT": "ACCEPTED"})]
    roles += [("attendee", meeting.counterpart, {"PARTSTAT": "NEEDS-ACTION", "RSVP": "TRUE"})]
    for name, value in facts.items():
        event.add(name, value)
    for name, user, answer in roles:
        if user.email:
            address = vCalAddress(f"mailto:{user.email}")
            for parameter, text in {"CN": _printable(user.name), **answer, **delivery}.items():
                address.params[parameter] = text
            event.add(name, address)
    return event


def _printable(text: str) -> str:
    """Remove characters that are not printable: they are no part of a name, and would break a line of iCalendar."""
    return "".join(letter for letter in text if letter.isprintable())
