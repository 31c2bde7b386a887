"""A time is said of what it begins or ends."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from tests.planner.reply.grounding.replies import refused
from turnloom.planner.reply.grounding import Evidence, ResultOrigin, check
from turnloom.planner.reply.grounding.paths import role_of_field

FLIGHTS = {"flights": [{"number": "AX 2206", "departs": "08:40", "arrives": "10:55", "minutes": 135}]}
SLOT = {"slots": [{"start": "2026-11-24T09:00", "end": "2026-11-24T09:30"}], "valid_minutes": 30}


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("AX 2206 leaves at 8:40 and lands at 10:55.", []),
        ("AX 2206 leaves at 10:55.", ["10:55."]),
        ("Der Flug landet um 8:40.", ["8:40."]),
        ("AX 2206 flies from 10:55 to 8:40.", ["10:55", "8:40."]),
        ("AX 2206 is free from 10:55 on.", []),  # what is free begins where something else ends
    ],
)
def test_a_departure_is_no_arrival(text: str, wrong: list[str]) -> None:
    """The words before a time, or its place in a range, tell which field it must come from."""
    assert [one.rstrip(".") for one in refused(text, FLIGHTS)] == [one.rstrip(".") for one in wrong]


@pytest.mark.parametrize(
    ("path", "role"),
    [("slots[0].start", "begin"), ("slots[0].end.dateTime", "end"), ("hours.from", "begin"), ("slots[0].room", None)],
)
def test_the_name_of_a_field_tells_what_its_time_is(path: str, role: str | None) -> None:
    """A field that only says that it is a time belongs to the one that holds it."""
    assert role_of_field(path) == role


def test_nothing_follows_a_time_that_is_an_end() -> None:
    """What takes 30 minutes is over at the end, not 30 minutes later."""
    assert refused("The slot begins at 9:00 and ends at 9:30.", SLOT) == []
    assert refused("You could meet at 10:00.", SLOT) == ["10:00"]


def test_a_moment_is_said_on_the_clock_of_the_user() -> None:
    """11:00 in Greenwich is 13:00 in Jerusalem, where nobody calls it 11:00."""
    evidence = Evidence(datetime(2026, 11, 20, 10, tzinfo=UTC).astimezone(ZoneInfo("Asia/Jerusalem")))
    evidence.add_result({"expires_at": "2026-11-20T11:00:00Z"}, ResultOrigin("link"))

    assert not check("The link works until 13:00.", evidence).violations
    assert check("The link works until 11:00.", evidence).violations


@pytest.mark.parametrize(
    ("text", "is_wrong"),
    [
        ("El DR 3113 tarda dos horas y media.", False),
        ("Der DR 3113 fährt um 11 Uhr.", False),
        ("The DR 3113 takes two hours and a half.", False),
        ("The DR 3113 takes two and a half hours.", False),
        ("The DR 3113 takes 2½ hours.", False),
        ("The DR 3113 takes three and a half hours.", True),
        ("El DR 3113 tarda tres horas y media.", True),
        ("El DR 3113 tarda dos horas.", True),
    ],
)
def test_half_an_hour_more(text: str, is_wrong: bool) -> None:
    """A half before or after the word for hours belongs to the duration."""
    train = {"trains": [{"train_number": "DR 3113", "departs": "11:00", "duration_minutes": 150}]}

    assert bool(refused(text, train)) == is_wrong


@pytest.mark.parametrize("time", ["2026-11-20T14:17:10.344217Z", "2:17 PM UTC", "15:17"])
def test_the_end_of_an_offer_may_be_told_as_it_is_written(time: str) -> None:
    """It is on the user's clock, unless the reply says that it is Greenwich's time."""
    evidence = Evidence(datetime(2026, 11, 20, 12, tzinfo=ZoneInfo("Europe/Berlin")))
    evidence.add_result({"expires_at": "2026-11-20T14:17:10.344217Z"}, ResultOrigin("link"))

    assert check(f"The link expires at {time}.", evidence).violations == ()
