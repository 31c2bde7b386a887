"""A meeting as iCalendar (RFC 5545): as it stands in a calendar, and as an invitation (RFC 5546)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from models.ledger.meetings import MeetingSession
from models.ledger.users import User

if TYPE_CHECKING:
    from icalendar import Event


@dataclass(frozen=True, slots=True)
class Meeting:
    """A meeting with a time, and who meets."""

    session: MeetingSession
    organizer: User
    counterpart: User

    @property
    def users(self) -> tuple[User, User]:
        """Who meets."""
        return self.organizer, self.counterpart

    @property
    def title(self) -> str:
        """What stands in both calendars."""
        return f"Meeting of {self.organizer.name} and {self.counterpart.name}"


def invitation(meeting: Meeting) -> str:
    """Return the invitation, to be sent or opened as an .ics file."""
    return _calendar(meeting, {}, method="REQUEST")


def calendar_object(meeting: Meeting) -> str:
    """Return the meeting as a calendar server stores it: without a method (RFC 4791, section 4.1)."""
    # Both calendars are written by us: a server that sent invitations too would make it twice (RFC 6638, section 7.1).
    return _calendar(meeting, {"SCHEDULE-AGENT": "CLIENT"})


def _calendar(meeting: Meeting, delivery: Mapping[str, str], **head: str) -> str:
    """Write the meeting; the same at every attempt, so that writing it again changes nothing.

    `delivery` are parameters of all its addresses, `head` is what the calendar has besides.
    """
    from icalendar import Calendar  # noqa: PLC0415 - 0.15 s: only processes that write meetings pay for it

    calendar = Calendar()
    for name, value in {"prodid": "-//Turnloom//Meetings//EN", "version": "2.0", **head}.items():
        calendar.add(name, value)
    calendar.add_component(_event(meeting, delivery))
    return str(calendar.to_ical(), "utf-8")


def _event(meeting: Meeting, delivery: Mapping[str, str]) -> "Event":
    from icalendar import Event, vCalAddress  # noqa: PLC0415 - see above

    session = meeting.session
    assert session.chosen is not None, "a meeting that is written has a time"
    event = Event()
    facts = {"uid": session.uid, "sequence": 0, "dtstamp": session.created_at, "status": "CONFIRMED"}
    facts |= {"dtstart": session.chosen.starts, "dtend": session.chosen.ends, "summary": _printable(meeting.title)}
    roles: list[tuple[str, User, dict[str, str]]] = [("organizer", meeting.organizer, {})]
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
    """Leave out what would break a line of iCalendar, and makes no part of a name."""
    return "".join(letter for letter in text if letter.isprintable())
