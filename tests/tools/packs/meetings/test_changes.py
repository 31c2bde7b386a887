"""A confirmed meeting is moved or cancelled in both calendars, and the other person is notified."""

from datetime import timedelta

import icalendar
import pytest
from sqlalchemy import text

from tests.factories import open_turn, work
from tests.tools.conftest import TENANT
from tests.tools.packs.meetings.arranging import FRIDAY, at, code, data, events, make_busy
from tests.tools.packs.meetings.conftest import REGISTRY, Ask
from turnloom.models.connections.database import transaction
from turnloom.models.ledger import notifications, users
from turnloom.tools.erasure import erase_conversation
from turnloom.tools.packs.meetings.store import changes
from turnloom.tools.packs.meetings.store.changes import WantedChange
from turnloom.tools.packs.meetings.times import clock

pytestmark = pytest.mark.usefixtures("people")

WITH_DAVID = {"counterpart": "David", "duration_mins": 30}


@pytest.fixture
def meeting(ask: Ask) -> dict[str, object]:
    """Let Noa meet David on Monday 23 November, 11:00 to 11:30 in Jerusalem."""
    ask("schedule", **WITH_DAVID)
    return data(ask("confirm", selection_number=2))


def told(user_id: str) -> list[tuple[str, str]]:
    with transaction() as db:
        return [(each.kind, each.body) for each in notifications.listed(db, TENANT, user_id, "open", 10)]


def times(user_id: str) -> list[str]:
    with transaction() as db:
        query = text("SELECT starts FROM calendar_events WHERE user_id = :user ORDER BY starts")
        return [f"{row.starts:%d %H:%M}" for row in db.execute(query, {"user": user_id})]


def icalendar_event(invite: str) -> icalendar.Event:
    return icalendar.Calendar.from_ical(invite).events[0]


@pytest.mark.parametrize(
    ("wanted", "start", "when"),
    [
        ({"new_time": "3pm"}, "2026-11-23T15:00:00+02:00", "Mon 23 Nov 2026, 13:00-13:30"),
        ({"new_day": "2026-11-25"}, "2026-11-25T11:00:00+02:00", "Wed 25 Nov 2026, 09:00-09:30"),
        (
            {"new_day": "2026-11-25", "new_time": "11:15"},
            "2026-11-25T11:15:00+02:00",
            "Wed 25 Nov 2026, 09:15-09:45",
        ),
        ({"new_time": "11:15"}, "2026-11-23T11:15:00+02:00", "Mon 23 Nov 2026, 09:15-09:45"),
    ],
)
def test_a_meeting_is_moved_in_both_calendars(
    ask: Ask, meeting: dict[str, object], wanted: dict[str, str], start: str, when: str
) -> None:
    """It keeps its length and its uid, may overlap its old time, and its one open notification tells the new time."""
    moved = data(ask("reschedule", counterpart="David", conversation="another", **wanted))

    assert (moved["start"], moved["previous_start"], moved["uid"]) == (start, meeting["start"], meeting["uid"])
    assert moved["duration_mins"] == 30
    assert events("noa") == events("david") == [(meeting["uid"], "confirmed")]
    assert times("noa") == times("david") == [f"{icalendar_event(moved['invite']).start:%d %H:%M}"]
    body = f"Meeting of Noa Levi and David Cohen: {when} (Europe/London), instead of Mon 23 Nov 2026, 09:00-09:30"
    assert told("david") == [("meeting.moved", f"{body} (Europe/London).")]
    assert icalendar_event(moved["invite"])["SEQUENCE"] == 1


def test_a_meeting_is_cancelled_in_both_calendars(ask: Ask, meeting: dict[str, object]) -> None:
    """The counterpart may do so too. The time is free again, and the other one is notified."""
    gone = data(ask("cancel", "david", conversation="his own", counterpart="Noa"))

    assert (gone["start"], gone["counterpart"]) == ("2026-11-23T09:00:00+00:00", "Noa Levi")
    assert events("noa") == events("david") == []
    assert [kind for kind, _ in told("noa")] == ["meeting.cancelled"]
    assert told("david") == []
    event = icalendar_event(gone["invite"])
    assert (event["UID"], event["STATUS"], event["SEQUENCE"]) == (meeting["uid"], "CANCELLED", 1)
    assert code(ask("cancel", counterpart="David")) == "NOT_FOUND"
    assert code(ask("confirm", selection_number=2)) == "NOT_FOUND"


def test_the_same_call_changes_once(ask: Ask, meeting: dict[str, object]) -> None:
    """A repetition returns the first result, also after a later change. A lost call is found by its key."""
    first = data(ask("reschedule", key="k1", counterpart="David", new_time="15:00"))
    ask("reschedule", counterpart="David", new_time="16:00")

    again = data(ask("reschedule", key="k1", counterpart="David", new_time="15:00"))

    assert again == first
    assert times("noa") == ["23 14:00"]
    assert len(told("david")) == 1


def test_a_lost_call_is_found_by_its_key(ask: Ask, meeting: dict[str, object], make_context) -> None:
    """Before the call there is nothing to find. What it did is found later."""
    move, cancel = (REGISTRY.get(f"network.{name}_meeting") for name in ("reschedule", "cancel"))
    contexts = [make_context(user={"id": "noa"}, idempotency_key=key) for key in ("k1", "k2")]
    queries = [move.input.model_validate({"new_time": "15:00"}), cancel.input.model_validate({})]
    before = [
        tool.reconcile(query, context) for tool, query, context in zip((move, cancel), queries, contexts, strict=True)
    ]

    moved, gone = data(ask("reschedule", key="k1", new_time="15:00")), data(ask("cancel", key="k2"))

    found = [
        tool.reconcile(query, context) for tool, query, context in zip((move, cancel), queries, contexts, strict=True)
    ]
    assert before == [None, None]
    assert [each.model_dump(mode="json") for each in found] == [moved, gone]


def test_a_time_that_is_not_possible_changes_nothing(ask: Ask, meeting: dict[str, object]) -> None:
    """One of the two is busy, the time is past, or it is the same. The meeting stays, and nobody is notified."""
    make_busy("david", at("2026-11-23T13:00+00:00", 30))

    refused = [
        ask("reschedule", counterpart="David", **wanted)
        for wanted in ({"new_time": "15:00"}, {"new_day": "2026-11-19"}, {"new_time": "11:00"}, {})
    ]

    assert [code(each) for each in refused] == ["CONFLICT", "VALIDATION_ERROR", "CONFLICT", None]
    assert refused[-1].needs == {"new_time": True}
    assert times("noa") == ["23 09:00"]
    assert [kind for kind, _ in told("david")] == ["meeting.confirmed"]


def test_which_of_several_meetings_is_asked(ask: Ask, meeting: dict[str, object]) -> None:
    """The choices are the starts of the meetings. The tool understands a start or a day."""
    ask("schedule", **WITH_DAVID, start_window="2026-11-24")
    other = data(ask("confirm", selection_number=1))

    asked = ask("cancel", counterpart="David")
    moved = data(ask("reschedule", at=meeting["start"], new_time="12:00"))
    gone = data(ask("cancel", counterpart="david@example.com", at="2026-11-24"))

    assert asked.needs == {"at": [meeting["start"], other["start"]]}
    assert (moved["uid"], gone["uid"]) == (meeting["uid"], other["uid"])


def test_a_meeting_is_nobody_elses(ask: Ask, meeting: dict[str, object]) -> None:
    """A user who does not take part cannot find it."""
    assert code(ask("cancel", "mia", counterpart="David")) == "NOT_FOUND"


def test_over_a_connection_that_is_switched_off_a_meeting_can_only_be_cancelled(
    ask: Ask, meeting: dict[str, object]
) -> None:
    """A user can get out of a meeting with somebody whom they no longer know."""
    with transaction() as db:
        users.connect(db, TENANT, "noa", "david", "inactive")

    moved, gone = ask("reschedule", counterpart="David", new_time="15:00"), ask("cancel", counterpart="David")

    assert (code(moved), gone.ok) == ("CONNECTION_INACTIVE", True)


def test_erasing_a_conversation_leaves_a_change_in_progress(ask: Ask) -> None:
    """Its session stays, because both calendars must get the change or what they had before."""
    work(open_turn(TENANT, conversation_id="c1").turn_id)
    ask("schedule", **WITH_DAVID)
    ask("confirm", selection_number=1)
    with transaction() as db:
        (session,) = changes.arranged(db, TENANT, "noa", FRIDAY)
        changes.begin(db, session, WantedChange("k1", None), timedelta(minutes=1), "Meeting")

    with transaction() as db:
        erase_conversation(db, TENANT, "c1")
        kept = changes.arranged(db, TENANT, "noa", FRIDAY)

    assert [(each.id, each.proposals) for each in kept] == [(session.id, [])]


@pytest.mark.parametrize(
    ("said", "read"),
    [("3pm", "15:00"), ("12 am", "00:00"), ("9:30 AM", "09:30"), ("15:45", "15:45"), ("9:05", "09:05")],
)
def test_a_time_of_day_is_read(said: str, read: str) -> None:
    """A time without minutes needs `am` or `pm`."""
    assert clock(said) == read


@pytest.mark.parametrize("said", ["3", "13pm", "0 am", "25:00", "12:60", "noon", "", "15:00:00"])
def test_what_is_no_time_of_day_is_refused(said: str) -> None:
    """The tool does not guess."""
    with pytest.raises(ValueError, match=r"time of day|must be in"):
        clock(said)
