"""Make people with connections and calendars, and calls that arrange meetings among them."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import text

from tests.tools.conftest import TENANT
from turnloom.models.connections.database import transaction
from turnloom.models.contracts.envelope import Envelope
from turnloom.models.contracts.users import AccountRequest, Profile
from turnloom.models.ledger import integrations, users
from turnloom.models.tables.tenants import TenantRow
from turnloom.tools.packs.meetings.store import calendars
from turnloom.tools.packs.meetings.store.calendars import CalendarEvent, Interval

SCOPES = ["calendar.availability.read", "calendar.events.propose", "calendar.events.write"]
ALWAYS = {day: ["00:00", "23:59"] for day in ("mon", "tue", "wed", "thu", "fri", "sat", "sun")}
PEOPLE = {
    "noa": Profile(name="Noa Levi", email="noa@example.com", timezone="Asia/Jerusalem", scopes=SCOPES),
    "david": Profile(name="David Cohen", email="david@example.com", timezone="Europe/London", scopes=SCOPES),
    "mia": Profile(name="Mia Rossi", email="mia@example.com", timezone="Europe/Rome", scopes=SCOPES),
}
FRIDAY = datetime(2026, 11, 20, 8, 50, tzinfo=UTC)


def at(text_of_time: str, minutes: int = 60) -> Interval:
    """Return an interval with this start."""
    starts = datetime.fromisoformat(text_of_time).astimezone(UTC)
    return Interval(starts, starts + timedelta(minutes=minutes))


def settle_people(people: dict[str, Profile] | None = None) -> None:
    """Put people into the directory, and connect them all."""
    chosen = PEOPLE if people is None else people
    with transaction() as db:
        db.add(TenantRow(id=TENANT, name="acme"))
        db.flush()
        for user_id, profile in chosen.items():
            users.put_user(db, TENANT, user_id, profile)
        for one in chosen:
            for other in chosen:
                if one < other:
                    users.connect(db, TENANT, one, other)


def connect_calendar(user_id: str, url: str, secret: dict[str, Any] | None = None, **settings: Any) -> None:
    """Give a user an account with a calendar server."""
    given = {"url": url, "username": user_id} | settings
    request = AccountRequest(settings=given, secret={"password": "pw"} if secret is None else secret)
    with transaction() as db:
        integrations.put_account(db, TENANT, user_id, "caldav", request)


def make_busy(user_id: str, *times: Interval) -> None:
    """Put events into a user's calendar in our database."""
    with transaction() as db:
        for number, time in enumerate(times):
            calendars.put_event(db, TENANT, user_id, CalendarEvent(f"busy-{number}-{time.starts}", time, "Busy"))


def events(user_id: str) -> list[tuple[str, str]]:
    """Return the uid and status of the events in a user's calendar in our database."""
    query = text("SELECT uid, status FROM calendar_events WHERE user_id = :user ORDER BY starts")
    with transaction() as db:
        return [(row.uid, row.status) for row in db.execute(query, {"user": user_id})]


def session_status(session_id: UUID | str) -> str:
    with transaction() as db:
        query = text("SELECT status FROM meeting_sessions WHERE id = :id")
        return str(db.scalars(query, {"id": str(session_id)}).one())


def lose_holders() -> None:
    """Let every process that confirms or changes a meeting count as lost."""
    with transaction() as db:
        for table in ("meeting_sessions", "meeting_changes"):
            db.execute(text(f"UPDATE {table} SET held_until = now() - interval '1 s' WHERE held_until IS NOT NULL"))


def data(envelope: Envelope) -> dict[str, Any]:
    assert envelope.ok, envelope
    assert isinstance(envelope.data, dict)
    return envelope.data


def code(envelope: Envelope) -> str | None:
    return envelope.error.code if envelope.error else None


def starts(proposals: Iterable[dict[str, Any]]) -> list[str]:
    return [each["start"] for each in proposals]
