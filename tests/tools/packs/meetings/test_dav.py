"""Use calendars on CalDAV servers: a real Radicale, and one that fails as servers do."""

import time
from collections.abc import Iterator
from datetime import timedelta

import icalendar
import pytest
from pytest_httpserver import HTTPServer
from sqlalchemy import text
from werkzeug import Request, Response

from tests.tools.conftest import TENANT
from tests.tools.packs.meetings.arranging import (
    at,
    code,
    connect_calendar,
    data,
    events,
    make_busy,
    session_status,
    starts,
)
from tests.tools.packs.meetings.conftest import Ask
from tests.tools.packs.meetings.servers import CalendarServer
from turnloom.models.connections.database import transaction
from turnloom.models.ledger import users
from turnloom.tools.packs.meetings.calendars import Calendar
from turnloom.tools.packs.meetings.dav import open_calendars
from turnloom.tools.packs.meetings.store.calendars import Interval

pytestmark = pytest.mark.usefixtures("people")

WITH_DAVID = {"counterpart": "David", "duration_mins": 30}
MONDAY = {"start_window": "2026-11-23", "end_window": "2026-11-23"}


def calendar_of(user_id: str = "noa", within_s: float = 5) -> Calendar:
    with transaction() as db:
        noa, user = (users.get_user(db, TENANT, each) for each in ("noa", user_id))
    owner = user if user_id == "noa" else noa
    return open_calendars(TENANT, [user], time.monotonic() + within_s, owner)[0]


def account_status() -> list[str]:
    with transaction() as db:
        return list(db.scalars(text("SELECT status FROM accounts ORDER BY user_id")))


@pytest.fixture
def noas(server: CalendarServer) -> str:
    """Put Noa's calendar on the server."""
    connect_calendar("noa", server.make_calendar("noa"))
    return server.url("noa")


@pytest.mark.parametrize(
    ("lines", "busy"),
    [
        (["DTSTART:20261123T100000Z", "DTEND:20261123T110000Z"], [at("2026-11-23T10:00Z")]),
        (["DTSTART:20261123T100000Z", "DURATION:PT30M"], [at("2026-11-23T10:00Z", 30)]),
        (
            ["DTSTART:20261120T100000Z", "DURATION:PT1H", "RRULE:FREQ=DAILY;COUNT=6", "EXDATE:20261124T100000Z"],
            [at("2026-11-23T10:00Z"), at("2026-11-25T10:00Z")],
        ),
        (["DTSTART;VALUE=DATE:20261124", "DTEND;VALUE=DATE:20261125"], [at("2026-11-23T22:00Z", 24 * 60)]),
        (["DTSTART;VALUE=DATE:20261124"], [at("2026-11-23T22:00Z", 24 * 60)]),
        (["DTSTART;TZID=Asia/Jerusalem:20261123T090000", "DURATION:PT1H"], [at("2026-11-23T07:00Z")]),
        (["DTSTART:20261123T090000", "DURATION:PT1H"], [at("2026-11-23T07:00Z")]),
        (["DTSTART:20261123T100000Z", "DURATION:PT1H", "TRANSP:TRANSPARENT"], []),
        (["DTSTART:20261123T100000Z", "DURATION:PT1H", "STATUS:CANCELLED"], []),
        (["DTSTART:20261123T100000Z", "DURATION:PT1H", "ATTENDEE;PARTSTAT=DECLINED:mailto:NOA@example.com"], []),
        (
            ["DTSTART:20261123T100000Z", "DURATION:PT1H", "ATTENDEE;PARTSTAT=DECLINED:mailto:x@example.com"],
            [at("2026-11-23T10:00Z")],
        ),
        (["DTSTART:20261123T100000Z", "DTEND:20261123T100000Z"], []),
        (["DTSTART:20261122T210000Z", "DTEND:20261122T220000Z"], []),
    ],
    ids=[
        *("plain", "duration", "recurring", "all day", "one day", "zone", "floating", "transparent", "cancelled"),
        *("declined", "declined by another", "without length", "before the window"),
    ],
)
def test_when_somebody_is_busy(lines: list[str], busy: list[Interval], server: CalendarServer, noas: str) -> None:
    """RFC 5545 decides. Days and floating times are in the user's own zone."""
    server.put("noa", "e1", *lines)
    window = Interval(at("2026-11-22T22:00Z").starts, at("2026-11-25T22:00Z").starts)

    found = calendar_of().busy(window)

    assert sorted(found) == busy


def test_an_override_moves_one_of_a_series(server: CalendarServer, noas: str) -> None:
    """If one event of a series was moved, its new time counts."""
    server.put(
        *("noa", "e1", "DTSTART:20261123T100000Z", "DURATION:PT1H", "RRULE:FREQ=DAILY;COUNT=2", "END:VEVENT"),
        *("BEGIN:VEVENT", "UID:e1", "DTSTAMP:20261101T000000Z", "RECURRENCE-ID:20261124T100000Z"),
        *("DTSTART:20261124T150000Z", "DURATION:PT1H"),
    )

    found = calendar_of().busy(Interval(at("2026-11-23T00:00Z").starts, at("2026-11-25T00:00Z").starts))

    assert sorted(found) == [at("2026-11-23T10:00Z"), at("2026-11-24T15:00Z")]


def test_proposals_leave_out_what_is_on_the_server(ask: Ask, server: CalendarServer, noas: str) -> None:
    """This holds for both people, wherever their calendars are."""
    server.put("noa", "e1", "DTSTART:20261123T090000Z", "DTEND:20261123T120000Z")
    make_busy("david", at("2026-11-23T12:00+00:00", 60))

    proposed = data(ask("schedule", **WITH_DAVID, **MONDAY))

    assert starts(proposed["proposals"]) == ["2026-11-23T15:00:00+02:00"]


def test_a_meeting_is_written_to_the_server(ask: Ask, server: CalendarServer, noas: str) -> None:
    """It has the same uid as in our database. We release our hold for users whose server has the meeting."""
    connect_calendar("david", server.make_calendar("david"))
    ask("schedule", **WITH_DAVID, **MONDAY)

    meeting = data(ask("confirm", selection_number=1))

    assert server.uids("noa") == server.uids("david") == [f"{meeting['uid']}.ics"]
    event = icalendar.Calendar.from_ical(server.text("noa", f"{meeting['uid']}.ics")).events[0]
    assert (event["UID"], event.end - event.start) == (meeting["uid"], timedelta(minutes=30))
    stored = server.text("david", f"{meeting['uid']}.ics")
    assert ("METHOD" in stored, "SCHEDULE-AGENT=CLIENT" in stored.replace("\r\n ", "")) == (False, True)
    assert ("METHOD:REQUEST" in meeting["invite"], "SCHEDULE-AGENT" in meeting["invite"]) == (True, False)
    assert events("noa") == events("david") == []


def test_writing_and_removing_again_change_nothing(server: CalendarServer, noas: str) -> None:
    """Writing again replaces the event. Removing one that is gone is allowed."""
    ical = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nBEGIN:VEVENT\r\nUID:u1\r\nDTSTAMP:20261101T000000Z\r\n"
    ical += "SUMMARY:{}\r\nDTSTART:20261123T100000Z\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
    calendar = calendar_of()
    calendar.write("u1", ical.format("First"))
    calendar.write("u1", ical.format("Second"))
    stands = server.uids("noa"), "Second" in server.text("noa", "u1.ics")

    calendar.remove("u1")
    calendar.remove("u1")

    assert (stands, server.uids("noa")) == ((["u1.ics"], True), [])


def test_a_time_taken_on_the_server_meanwhile_is_a_conflict(ask: Ask, server: CalendarServer, noas: str) -> None:
    """Nothing is written, and nothing stays held."""
    ask("schedule", **WITH_DAVID, **MONDAY)
    server.put("noa", "e1", "DTSTART:20261123T091500Z", "DURATION:PT5M")

    refused = ask("confirm", selection_number=1)

    assert code(refused) == "CONFLICT"
    assert (server.uids("noa"), events("noa"), events("david")) == (["e1.ics"], [], [])


def test_a_secret_that_is_refused_asks_the_user_to_connect_again(ask: Ask, noas: str) -> None:
    """The account is marked, and the server is not asked any more."""
    connect_calendar("noa", noas, {"password": "old"})

    refused, again = ask("schedule", **WITH_DAVID), ask("schedule", **WITH_DAVID)

    assert (code(refused), code(again), account_status()) == ("REAUTH_REQUIRED", "REAUTH_REQUIRED", ["reauth_required"])


def test_the_counterparts_secret_is_not_the_users_affair(ask: Ask, server: CalendarServer) -> None:
    """The user need not connect anything; the counterpart must."""
    connect_calendar("david", server.make_calendar("david"), {"password": "old"})

    refused = ask("schedule", **WITH_DAVID)

    assert (code(refused), account_status()) == ("CONNECTION_INACTIVE", ["reauth_required"])


def test_a_token_that_expires_between_proposing_and_confirming_leaves_nothing(
    ask: Ask, server: CalendarServer, noas: str
) -> None:
    """Neither calendar has the meeting, and nothing is held. After connecting again it can be confirmed."""
    proposed = data(ask("schedule", **WITH_DAVID, **MONDAY))
    connect_calendar("noa", noas, {"password": "old"})

    refused = ask("confirm", selection_number=1)
    left = session_status(proposed["session_id"]), events("noa"), events("david")
    connect_calendar("noa", noas)

    assert (code(refused), left) == ("REAUTH_REQUIRED", ("open", [], []))
    assert ask("confirm", selection_number=1).ok


@pytest.mark.parametrize("url", ["", "ftp://example.com/noa/", "/noa/work"])
def test_an_account_without_a_calendar_is_of_no_use(url: str, ask: Ask) -> None:
    """If the URL is missing or invalid, the account counts as switched off."""
    connect_calendar("noa", url)

    assert code(ask("schedule", **WITH_DAVID)) == "CONNECTION_INACTIVE"


@pytest.fixture
def broken(httpserver: HTTPServer) -> Iterator[HTTPServer]:
    """Run a server with Noa's calendar that does what a test says."""
    connect_calendar("noa", httpserver.url_for("/noa/work"))
    yield httpserver
    httpserver.clear()


@pytest.mark.parametrize(
    ("status", "headers", "ends"),
    [
        (500, {}, "UPSTREAM_5XX"),
        (503, {}, "UPSTREAM_5XX"),
        (503, {"Retry-After": "60"}, "RATE_LIMITED"),
        (429, {"Retry-After": "60"}, "RATE_LIMITED"),
        (403, {}, "UPSTREAM_4XX"),
        (404, {}, "UPSTREAM_4XX"),
        (200, {}, "UPSTREAM_5XX"),
    ],
)
def test_how_a_server_fails(status: int, headers: dict[str, str], ends: str, ask: Ask, broken: HTTPServer) -> None:
    """Each failure has its code. One that may pass is tried again first."""
    broken.expect_request("/noa/work/").respond_with_data("what is this", status=status, headers=headers)

    assert code(ask("schedule", **WITH_DAVID, time_s=3)) == ends


def test_a_dead_server_is_left_alone(ask: Ask, broken: HTTPServer) -> None:
    """After five failures its user's calls are refused. Those of others go on."""
    broken.expect_request("/noa/work/").respond_with_data("out", status=500)

    ended = [code(ask("schedule", **WITH_DAVID)) for _ in range(4)]

    assert (ended[-1], len(broken.log)) == ("CIRCUIT_OPEN", 5)
    assert ask("schedule", "mia", **WITH_DAVID).ok


def test_a_server_that_does_not_answer_costs_no_more_than_the_deadline(ask: Ask, broken: HTTPServer) -> None:
    """This also holds for one that sends a little now and then."""

    def drip(_: Request) -> Response:
        def chunks() -> Iterator[bytes]:
            for _ in range(100):
                time.sleep(0.1)  # a slow server; the test itself does not wait
                yield b" "

        return Response(chunks(), 207)

    broken.expect_request("/noa/work/").respond_with_handler(drip)
    began = time.monotonic()

    refused = ask("schedule", **WITH_DAVID, time_s=0.6)

    assert (code(refused), time.monotonic() - began < 8) == ("TOOL_TIMEOUT", True)


def test_an_answer_over_the_limit_is_refused(ask: Ask, broken: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest of it is not read."""
    monkeypatch.setattr("turnloom.tools.packs.meetings.dav.MAX_ANSWER_BYTES", 1_000)
    broken.expect_request("/noa/work/").respond_with_data(b" " * 1_001, status=207)

    assert code(ask("schedule", **WITH_DAVID)) == "UPSTREAM_5XX"


def test_a_server_that_is_not_there(ask: Ask) -> None:
    """It is UPSTREAM_5XX, after some tries."""
    connect_calendar("noa", "http://127.0.0.1:9/noa/work/")

    assert code(ask("schedule", **WITH_DAVID, time_s=3)) == "UPSTREAM_5XX"


def test_a_token_is_sent_as_such(ask: Ask, broken: HTTPServer) -> None:
    """Every request has a bearer token, and no password."""
    connect_calendar("noa", broken.url_for("/noa/work"), {"token": "t0ken"})
    broken.expect_request("/noa/work/", headers={"Authorization": "Bearer t0ken"}).respond_with_data(
        '<?xml version="1.0"?><multistatus xmlns="DAV:"/>', status=207, content_type="application/xml"
    )

    assert ask("schedule", **WITH_DAVID).ok
