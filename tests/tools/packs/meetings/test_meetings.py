"""People with calendars in our database get meetings proposed, and accept or refuse them."""

import icalendar
import pytest
from sqlalchemy import text

from tests.factories import open_turn, work
from tests.tools.conftest import TENANT
from tests.tools.packs.meetings.arranging import (
    PEOPLE,
    at,
    code,
    data,
    events,
    make_busy,
    session_status,
    starts,
)
from tests.tools.packs.meetings.conftest import REGISTRY, Ask
from turnloom.models.connections.database import transaction
from turnloom.models.contracts.users import Profile
from turnloom.models.ledger import notifications, users
from turnloom.tools.erasure import erase_conversation

pytestmark = pytest.mark.usefixtures("people")

WITH_DAVID = {"counterpart": "David", "duration_mins": 30}


def test_proposals_suit_both(ask: Ask) -> None:
    """They are in both people's working hours, spread over days, and shown in the asking user's zone."""
    proposed = data(ask("schedule", **WITH_DAVID))

    assert starts(proposed["proposals"]) == [
        "2026-11-20T11:30:00+02:00",
        "2026-11-23T11:00:00+02:00",
        "2026-11-24T11:00:00+02:00",
        "2026-11-25T11:00:00+02:00",
    ]
    assert {each["tz"] for each in proposed["proposals"]} == {"Asia/Jerusalem"}
    assert (proposed["counterpart"], proposed["counterpart_user_id"]) == ("David Cohen", "david")


def test_busy_times_of_both_are_left_out(ask: Ask) -> None:
    """No time is proposed at which either is busy."""
    make_busy("noa", at("2026-11-23T09:00+00:00", 60))
    make_busy("david", at("2026-11-23T10:00+00:00", 30))

    proposed = data(ask("schedule", **WITH_DAVID, start_window="2026-11-23", end_window="2026-11-23"))

    assert starts(proposed["proposals"]) == [
        "2026-11-23T12:30:00+02:00",
        "2026-11-23T14:30:00+02:00",
        "2026-11-23T16:30:00+02:00",
    ]


def test_windows_are_read_in_the_hinted_zone(ask: Ask) -> None:
    """A time without an offset, and a day, are in `tz_hint`. Proposals are shown in it."""
    window = {"start_window": "2026-11-24T15:00", "end_window": "2026-11-24", "tz_hint": "Europe/Rome"}

    proposed = data(ask("schedule", **WITH_DAVID, **window))

    assert (proposed["tz"], starts(proposed["proposals"])) == ("Europe/Rome", ["2026-11-24T15:00:00+01:00"])


def test_no_session_is_opened_without_a_suitable_time(ask: Ask) -> None:
    """The result says so, and the user may ask for other times at once."""
    weekend = {"start_window": "2026-11-21", "end_window": "2026-11-22"}

    proposed = data(ask("schedule", **WITH_DAVID, **weekend))
    again = ask("schedule", **WITH_DAVID, **weekend)

    assert (proposed["session_id"], proposed["proposals"], again.ok) == (None, [], True)


def test_the_same_call_opens_one_session(ask: Ask) -> None:
    """A repetition with the same key returns the first proposals. A lost call finds them."""
    first, again = (data(ask("schedule", key="k1", **WITH_DAVID)) for _ in range(2))

    assert first == again


def test_a_duplicate_is_a_conflict_and_another_wish_takes_its_place(ask: Ask) -> None:
    """The same request in a conversation is refused while it is open. A request for other times replaces it."""
    first = data(ask("schedule", **WITH_DAVID))

    same = ask("schedule", **WITH_DAVID)
    other = data(ask("schedule", **WITH_DAVID, start_window="2026-11-25"))

    assert code(same) == "CONFLICT"
    assert [session_status(each["session_id"]) for each in (first, other)] == ["cancelled", "open"]
    assert code(ask("confirm", session_id=first["session_id"], selection_number=1)) == "NOT_FOUND"


def test_an_ambiguous_name_is_asked_back(ask: Ask) -> None:
    """The choices are names, with the address if two are the same. The tool understands its own choices."""
    with transaction() as db:
        for user_id, name in (("d2", "David Cohen"), ("d3", "David Azulay")):
            users.put_user(db, TENANT, user_id, Profile(name=name, email=f"{user_id}@example.com"))
            users.connect(db, TENANT, "noa", user_id)

    needs = ask("schedule", **WITH_DAVID).needs

    assert needs == {"counterpart": ["David Azulay", "David Cohen <d2@example.com>", "David Cohen <david@example.com>"]}
    for choice, meant in zip(needs["counterpart"], ("d3", "d2", "david"), strict=True):
        assert data(ask("schedule", counterpart=choice, duration_mins=30))["counterpart_user_id"] == meant


def test_a_confirmed_meeting_is_in_both_calendars(ask: Ask) -> None:
    """Both get an invitation, and the counterpart is notified in their own time zone."""
    proposed = data(ask("schedule", **WITH_DAVID))

    meeting = data(ask("confirm", selection_number=2))

    assert (meeting["session_id"], meeting["start"]) == (proposed["session_id"], "2026-11-23T11:00:00+02:00")
    assert events("noa") == events("david") == [(meeting["uid"], "confirmed")]
    with transaction() as db:
        (told,) = notifications.listed(db, TENANT, "david", "open", 10)
    when = "Mon 23 Nov 2026, 09:00-09:30 (Europe/London)"
    assert told.body == f"Meeting of Noa Levi and David Cohen: {when}. It is in your calendar."
    event = icalendar.Calendar.from_ical(meeting["invite"]).events[0]
    assert (event["UID"], event.start.isoformat(), event.end.isoformat()) == (
        meeting["uid"],
        "2026-11-23T09:00:00+00:00",
        "2026-11-23T09:30:00+00:00",
    )
    assert str(event["ORGANIZER"]) == "mailto:noa@example.com"
    assert sorted(map(str, event["ATTENDEE"])) == ["mailto:david@example.com", "mailto:noa@example.com"]
    assert (event["SEQUENCE"], "DTSTAMP" in event) == (0, True)


def test_a_name_cannot_write_into_an_invitation(ask: Ask) -> None:
    """Line breaks, quotes and control characters in a name stay in its field."""
    with transaction() as db:
        users.put_user(db, TENANT, "eve", Profile(name='Eve "E"\r\nATTENDEE:mailto:x@example.com\x07', email="e@e.e"))
        users.connect(db, TENANT, "noa", "eve")
    ask("schedule", counterpart="e@e.e", duration_mins=30)

    event = icalendar.Calendar.from_ical(data(ask("confirm", selection_number=1))["invite"]).events[0]

    assert [str(each) for each in event["ATTENDEE"]] == ["mailto:noa@example.com", "mailto:e@e.e"]
    assert event["ATTENDEE"][1].params["CN"] == 'Eve "E"ATTENDEE:mailto:x@example.com'


def test_a_choice_may_be_a_time(ask: Ask) -> None:
    """A proposed start is a choice, in any offset."""
    ask("schedule", **WITH_DAVID)

    chosen = data(ask("confirm", start_time="2026-11-23T09:00:00Z"))

    assert (chosen["start"], chosen["duration_mins"]) == ("2026-11-23T11:00:00+02:00", 30)


def test_a_choice_may_be_an_index_from_0(ask: Ask) -> None:
    """Programs count from 0, people from 1. An index and a number that mean different times are refused."""
    proposed = data(ask("schedule", **WITH_DAVID))

    crossed = ask("confirm", selection_index=1, selection_number=1)
    beyond = ask("confirm", selection_index=4)
    chosen = data(ask("confirm", selection_index=1))

    assert chosen["start"] == proposed["proposals"][1]["start"]
    assert data(ask("confirm", selection_number=2, selection_index=1)) == chosen
    assert [code(crossed), code(beyond)] == ["VALIDATION_ERROR"] * 2


def test_a_choice_may_be_another_time(ask: Ask) -> None:
    """A time that was not proposed lasts as long as the proposals, or until the named end. Both must be free."""
    ask("schedule", **WITH_DAVID)
    make_busy("david", at("2026-11-23T10:00+00:00", 30))

    taken = ask("confirm", start_time="2026-11-23T12:15:00+02:00")
    past = ask("confirm", start_time="2026-11-19T12:00:00+02:00")
    too_long = ask("confirm", start_time="2026-11-23T13:00", end_time="2026-11-23T18:00")
    crossed = ask("confirm", selection_number=1, start_time="2026-11-23T13:00")
    meeting = data(ask("confirm", start_time="2026-11-23T13:00", end_time="2026-11-23T13:45"))

    assert [code(each) for each in (taken, past, too_long, crossed)] == ["CONFLICT", *["VALIDATION_ERROR"] * 3]
    causes = [each.error.cause for each in (past, too_long, crossed) if each.error]
    assert [cause and cause["kind"] for cause in causes] == ["time_over", "meeting_length", "not_proposed"]
    assert (meeting["start"], meeting["duration_mins"]) == ("2026-11-23T13:00:00+02:00", 45)
    assert events("david")[-1] == (meeting["uid"], "confirmed")


def test_without_a_choice_the_user_is_asked(ask: Ask) -> None:
    """The choices are the proposals in words. A single proposal needs no choice."""
    ask("schedule", **WITH_DAVID)
    needs = ask("confirm").needs
    ask("schedule", **WITH_DAVID, start_window="2026-11-24T17:00", end_window="2026-11-25T11:30")

    assert needs is not None
    assert needs["selection_number"][1] == "Mon 23 Nov 2026, 11:00-11:30 (Asia/Jerusalem)"
    assert data(ask("confirm"))["start"] == "2026-11-25T11:00:00+02:00"


def test_confirming_again_is_the_same_meeting(ask: Ask) -> None:
    """The same choice again changes nothing and notifies nobody. Another choice is a conflict."""
    ask("schedule", **WITH_DAVID)
    first = data(ask("confirm", selection_number=1))

    again, other = ask("confirm", selection_number=1), ask("confirm", selection_number=2)

    assert (data(again), code(other)) == (first, "CONFLICT")
    with transaction() as db:
        assert len(notifications.listed(db, TENANT, "david", "open", 10)) == 1


def test_a_time_that_was_taken_meanwhile_is_a_conflict(ask: Ask) -> None:
    """The session stays open for another choice."""
    ask("schedule", **WITH_DAVID)
    make_busy("david", at("2026-11-20T09:45+00:00", 10))

    taken, other = ask("confirm", selection_number=1), ask("confirm", selection_number=2)

    assert (code(taken), other.ok) == ("CONFLICT", True)


def test_meetings_with_a_common_person_exclude_each_other(ask: Ask) -> None:
    """If Noa meets David, Mia's meeting with David at an overlapping time is refused."""
    ask("schedule", **WITH_DAVID, start_window="2026-11-24T11:00+02:00")
    ask("schedule", "mia", **WITH_DAVID, start_window="2026-11-24T11:15+02:00")

    first, second = ask("confirm", selection_number=1), ask("confirm", "mia", selection_number=1)

    assert (first.ok, code(second)) == (True, "CONFLICT")


def test_a_session_expires(ask: Ask) -> None:
    """After half an hour it no longer counts, and the same may be proposed again."""
    proposed = data(ask("schedule", **WITH_DAVID))
    with transaction() as db:
        left_s = db.scalars(text("SELECT extract(epoch FROM expires_at - created_at) FROM meeting_sessions")).one()
        db.execute(text("UPDATE meeting_sessions SET expires_at = now() - interval '1 s'"))

    late = ask("confirm", session_id=proposed["session_id"], selection_number=1)
    again = ask("schedule", **WITH_DAVID)

    assert (round(left_s), code(late), again.ok) == (1800, "NOT_FOUND", True)
    assert session_status(proposed["session_id"]) == "expired"


def test_a_session_is_its_users_and_its_conversations(ask: Ask) -> None:
    """Another user or conversation with its id finds nothing."""
    proposed = data(ask("schedule", **WITH_DAVID))

    foreign = ask("confirm", "mia", session_id=proposed["session_id"], selection_number=1)

    assert code(foreign) == "NOT_FOUND"


def test_a_connection_that_was_switched_off_ends_it(ask: Ask) -> None:
    """Nothing is proposed, and earlier proposals cannot be confirmed."""
    ask("schedule", **WITH_DAVID)
    with transaction() as db:
        users.connect(db, TENANT, "noa", "david", "inactive")

    assert code(ask("schedule", **WITH_DAVID, start_window="2026-11-25")) == "CONNECTION_INACTIVE"
    assert code(ask("confirm", selection_number=1)) == "CONNECTION_INACTIVE"


def test_a_lost_call_is_found_by_its_key(ask: Ask, make_context) -> None:
    """If the call was made, its result comes back. If not, it may be made."""
    context = make_context(user={"id": "noa"}, idempotency_key="k9")
    schedule, confirm = (REGISTRY.get(f"network.{name}_meeting") for name in ("schedule", "confirm"))
    query, choice = schedule.input.model_validate(WITH_DAVID), confirm.input.model_validate({"selection_number": 1})
    before = schedule.reconcile(query, context), confirm.reconcile(choice, context)

    proposed = data(ask("schedule", key="k9", **WITH_DAVID))
    confirmed = data(ask("confirm", key="k9", selection_number=1))

    assert before == (None, None)
    assert schedule.reconcile(query, context).model_dump(mode="json") == proposed
    assert confirm.reconcile(choice, context).model_dump(mode="json") == confirmed


def test_erasing_a_conversation_forgets_what_was_proposed(ask: Ask) -> None:
    """Its sessions are gone. The meeting belongs to the users, and stays in their calendars."""
    work(open_turn(TENANT, conversation_id="c1").turn_id)
    ask("schedule", **WITH_DAVID)
    meeting = data(ask("confirm", selection_number=1))
    ask("schedule", **WITH_DAVID)

    with transaction() as db:
        erase_conversation(db, TENANT, "c1")
        left = db.scalars(text("SELECT count(*) FROM meeting_sessions")).one()

    assert (left, events("david")) == (0, [(meeting["uid"], "confirmed")])


def test_everybody_here_may_arrange_meetings() -> None:
    """The people of these tests have granted the scopes that the tools ask for."""
    wanted = frozenset().union(*(tool.scopes for tool in REGISTRY.tools.values()))

    assert all(set(profile.scopes) == wanted for profile in PEOPLE.values())
