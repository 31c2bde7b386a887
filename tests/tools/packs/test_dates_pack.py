from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import time_machine
from hypothesis import given
from hypothesis import strategies as st

from turnloom.models.contracts.envelope import Envelope
from turnloom.tools.packs.dates.stays import LONGEST_STAY_NIGHTS, read_stays

Call = Callable[..., Envelope]

WEDNESDAY = date(2026, 11, 18)
SATURDAY = date(2026, 11, 21)
SUNDAY = date(2026, 11, 22)


@pytest.fixture
def clock() -> Iterator[time_machine.Traveller]:
    """Set the clock to Wednesday, 18 November 2026, ten in the morning in Jerusalem."""
    morning = datetime(2026, 11, 18, 10, 0, tzinfo=ZoneInfo("Asia/Jerusalem"))
    with time_machine.travel(morning, tick=False) as traveller:
        yield traveller


@pytest.mark.parametrize(
    ("hint", "check_in", "check_out"),
    [
        ("today", "2026-11-18", "2026-11-19"),
        ("Tonight!", "2026-11-18", "2026-11-19"),
        ("tomorrow", "2026-11-19", "2026-11-20"),
        ("the day after tomorrow", "2026-11-20", "2026-11-21"),
        ("in 3 days", "2026-11-21", "2026-11-22"),
        ("in two weeks", "2026-12-02", "2026-12-03"),
        ("in a month", "2026-12-18", "2026-12-19"),
        ("10 days from now", "2026-11-28", "2026-11-29"),
        ("1 week from today", "2026-11-25", "2026-11-26"),
        ("a week from Friday", "2026-11-27", "2026-11-28"),
        ("2 weeks from tomorrow", "2026-12-03", "2026-12-04"),
        ("Friday", "2026-11-20", "2026-11-21"),
        ("this Friday", "2026-11-20", "2026-11-21"),
        ("next Friday", "2026-11-27", "2026-11-28"),
        ("on Thursday night", "2026-11-19", "2026-11-20"),
        ("Wednesday", "2026-11-25", "2026-11-26"),
        ("this Wednesday", "2026-11-18", "2026-11-19"),
        ("2026-12-05", "2026-12-05", "2026-12-06"),
        ("15 December", "2026-12-15", "2026-12-16"),
        ("December 15th", "2026-12-15", "2026-12-16"),
        ("10 November", "2027-11-10", "2027-11-11"),
        ("05/12", "2026-12-05", "2026-12-06"),
        ("24.12.2026", "2026-12-24", "2026-12-25"),
        ("Friday 4 December", "2026-12-04", "2026-12-05"),
        ("the 15th", "2026-12-15", "2026-12-16"),
        ("on the 25th", "2026-11-25", "2026-11-26"),
        ("29 February", "2028-02-29", "2028-03-01"),
        ("מחר", "2026-11-19", "2026-11-20"),
        ("2 nights from Friday", "2026-11-20", "2026-11-22"),
        ("two nights starting next Friday", "2026-11-27", "2026-11-29"),
        ("Friday for 3 nights", "2026-11-20", "2026-11-23"),
        ("from tomorrow for one night", "2026-11-19", "2026-11-20"),
        ("for a week from Friday", "2026-11-20", "2026-11-27"),
        ("2 nights next weekend", "2026-11-27", "2026-11-29"),
        ("Friday to Sunday", "2026-11-20", "2026-11-22"),
        ("Sunday till Tuesday", "2026-11-22", "2026-11-24"),
        ("tomorrow until Friday", "2026-11-19", "2026-11-20"),
        ("tomorrow to the day after tomorrow", "2026-11-19", "2026-11-20"),
        ("2026-12-05 to 2026-12-08", "2026-12-05", "2026-12-08"),
        ("2026-12-05/2026-12-08", "2026-12-05", "2026-12-08"),
        ("12-14 December", "2026-12-12", "2026-12-14"),
        ("12\u201314 December", "2026-12-12", "2026-12-14"),
        ("December 12-14", "2026-12-12", "2026-12-14"),
        ("the 12th to 14th of December", "2026-12-12", "2026-12-14"),
        ("from the 5th to the 8th of December", "2026-12-05", "2026-12-08"),
        ("20 Dec to 3 Jan", "2026-12-20", "2027-01-03"),
        ("end of the month", "2026-11-30", "2026-12-01"),
        ("end of next month", "2026-12-31", "2027-01-01"),
        ("end of February", "2027-02-28", "2027-03-01"),
        ("mid-December", "2026-12-15", "2026-12-16"),
        ("early March", "2027-03-01", "2027-03-02"),
    ],
)
def test_a_phrase_names_a_stay(hint: str, check_in: str, check_out: str, call: Call, clock: object) -> None:
    """The table has what people say on a Wednesday, and what they mean."""
    envelope = call("dates.resolve_hint", {"hint": hint, "timezone": "Asia/Jerusalem"})

    assert envelope.ok, envelope
    assert (envelope.data["check_in"], envelope.data["check_out"]) == (check_in, check_out)
    assert envelope.data["tz"] == "Asia/Jerusalem"


@pytest.mark.parametrize(
    ("today", "hint", "fridays"),
    [
        (WEDNESDAY, "weekend", 20),
        (WEDNESDAY, "this weekend", 20),
        (WEDNESDAY, "the coming weekend", 20),
        (WEDNESDAY, "next weekend", 27),
        (WEDNESDAY, "for next weekend, please", 27),
        (WEDNESDAY, "weekend of the 28th", 27),
        (SATURDAY, "next weekend", 27),
        (SUNDAY, "next weekend", 27),
        (SUNDAY, "this weekend", 27),
    ],
)
def test_a_weekend_is_two_options(today: date, hint: str, fridays: int) -> None:
    """Friday to Saturday is the default. Saturday to Sunday is the other."""
    stays = read_stays(hint, today)

    days = [(stay.check_in.day, stay.check_out.day) for stay in stays]
    assert days == [(fridays, fridays + 1), (fridays + 1, fridays + 2)]


def test_on_a_saturday_half_of_the_weekend_is_left() -> None:
    """Nobody can arrive yesterday."""
    stays = read_stays("this weekend", SATURDAY)

    assert [stay.check_in for stay in stays] == [SATURDAY]


def test_both_options_are_in_the_result(call: Call, clock: object) -> None:
    """Alternatives list every reading, the default first. A clear hint has none."""
    weekend = call("dates.resolve_hint", {"hint": "next weekend"})
    clear = call("dates.resolve_hint", {"hint": "tomorrow"})

    assert weekend.data == {
        "check_in": "2026-11-27",
        "check_out": "2026-11-28",
        "tz": "Asia/Jerusalem",
        "alternatives": [
            {"check_in": "2026-11-27", "check_out": "2026-11-28"},
            {"check_in": "2026-11-28", "check_out": "2026-11-29"},
        ],
    }
    assert clear.data["alternatives"] == []


def test_today_depends_on_the_time_zone(call: Call) -> None:
    """At nine in the evening in New York it is tomorrow in Jerusalem."""
    with time_machine.travel(datetime(2026, 11, 19, 2, 0, tzinfo=ZoneInfo("UTC")), tick=False):
        here = call("dates.resolve_hint", {"hint": "today", "timezone": "America/New_York"})
        there = call("dates.resolve_hint", {"hint": "today"})

    assert here.data["check_in"] == "2026-11-18"
    assert there.data["check_in"] == "2026-11-19"


def test_the_person_may_have_a_time_zone(call: Call, clock: object) -> None:
    """Without an argument the person's own zone counts."""
    envelope = call("dates.resolve_hint", {"hint": "today"}, user={"timezone": "Asia/Tokyo"})

    assert envelope.data["tz"] == "Asia/Tokyo"


@pytest.mark.parametrize("unknown", ["Mars/Olympus", "../etc/passwd", "Jerusalem"])
def test_an_unknown_time_zone_counts_as_absent(unknown: str, call: Call, clock: object) -> None:
    """The person's own zone is right then, and the result says which one was used."""
    envelope = call("dates.resolve_hint", {"hint": "today", "timezone": unknown}, user={"timezone": "Asia/Tokyo"})

    assert envelope.data["tz"] == "Asia/Tokyo"


@pytest.mark.parametrize(
    "hint",
    [
        "soon",
        "whenever you like",
        "next week",
        "next month",
        "December",
        "3 nights",
        "5",
        "2 adults",
        "yesterday",
        "2 weeks ago",
        "2020-01-01 to 2020-01-03",
        "2026-12-08 to 2026-12-05",
        "31 February",
        "the 32nd",
        "9999-12-31",
        "in 99999999999 weeks",
        "0 nights from Friday",
        "400 nights from Friday",
        "from to",
        "-",
        "?",
        "\x00",
    ],
)
def test_a_hint_that_is_no_stay_becomes_a_question(hint: str, call: Call, clock: object) -> None:
    """The question has two concrete answers."""
    envelope = call("dates.resolve_hint", {"hint": hint})

    assert envelope.needs == {
        "hint": ["Fri 20 Nov 2026 to Sat 21 Nov 2026", "Sat 21 Nov 2026 to Sun 22 Nov 2026"],
    }


@pytest.mark.parametrize(
    "phrase", ["1 nights ", "for 1 nights ", "a week from ", "weekend of ", "from ", "1 to ", "- "]
)
def test_repetition_costs_no_time(phrase: str, call: Call, clock: object) -> None:
    """If nested phrases were read in every combination, twenty of them would take hours."""
    envelope = call("dates.resolve_hint", {"hint": (phrase * 100)[:200]}, time_s=60)

    assert envelope.needs


def test_the_choices_are_hints_themselves(call: Call, clock: object) -> None:
    """Whatever the user picks can be resolved."""
    needs = call("dates.resolve_hint", {"hint": "soon"}).needs

    assert needs
    choices: Any = needs["hint"]
    picked = [call("dates.resolve_hint", {"hint": choice}).data for choice in choices]

    assert [(stay["check_in"], stay["check_out"]) for stay in picked] == [
        ("2026-11-20", "2026-11-21"),
        ("2026-11-21", "2026-11-22"),
    ]


@pytest.mark.parametrize(
    ("args", "fault"),
    [
        ({}, "hint"),
        ({"hint": ""}, "hint"),
        ({"hint": "x" * 201}, "hint"),
        ({"hint": 5}, "hint"),
        ({"hint": "\ud800"}, "hint"),
        ({"hint": "today", "zone": "UTC"}, "zone"),
    ],
)
def test_bad_arguments_are_named(args: dict[str, Any], fault: str, call: Call) -> None:
    """Every invalid field is BAD_ARGS and named."""
    envelope = call("dates.resolve_hint", args)

    assert envelope.error
    assert envelope.error.code == "BAD_ARGS"
    assert f"{fault}:" in envelope.error.message


_WORDS = st.sampled_from(
    [
        "a",
        "the",
        "in",
        "for",
        "from",
        "to",
        "of",
        "next",
        "this",
        "2",
        "12",
        "15th",
        "99",
        "nights",
        "week",
        "weeks",
        "month",
        "friday",
        "weekend",
        "december",
        "end",
        "day",
        "-",
        "/",
        "2026-12-05",
    ]
)
_HINTS = st.one_of(st.lists(_WORDS, max_size=8).map(" ".join), st.text(max_size=40))


@given(_HINTS, st.dates(date(2025, 1, 1), date(2030, 1, 1)))
def test_every_reading_is_a_possible_stay(hint: str, today: date) -> None:
    """For any hint, a stay begins today at the earliest and ends after it begins. Nothing breaks."""
    for stay in read_stays(hint, today):
        assert today <= stay.check_in < stay.check_out
        assert (stay.check_out - stay.check_in).days <= LONGEST_STAY_NIGHTS


def test_readings_do_not_depend_on_other_threads() -> None:
    """Threads that ask from different days get their own answers."""
    hints = ("12 december", "in two weeks", "tomorrow", "3 may")
    questions = [(hint, day) for hint in hints for day in (WEDNESDAY, SATURDAY, SUNDAY)] * 6
    alone = [read_stays(*question) for question in questions]

    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda question: read_stays(*question), questions))

    assert together == alone
