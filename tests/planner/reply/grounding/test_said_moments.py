"""Moments that a user names in words are evidence of the dates and times that a reply writes out."""

from datetime import UTC, date, datetime, timedelta

import pytest

from tests.planner.reply.grounding.replies import refused
from turnloom.planner.reply.grounding import Evidence, check
from turnloom.planner.reply.grounding.said_moments import moments_said

FRIDAY = date(2026, 11, 20)


def _dates(text: str, today: date = FRIDAY) -> set[object]:
    return {key[1] for key in moments_said(text, today, []) if key[0] == "date"}


def _times(text: str) -> set[tuple[object, ...]]:
    return {key[1:] for key in moments_said(text, FRIDAY, []) if key[0] == "time"}


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("two seats for tonight", {0}),
        ("tomorrow, please", {1}),
        ("das Zimmer ab übermorgen", {2}),
        ("après-demain, si possible", {1, 2}),
        ("מחר בבקשה", {1}),
        ("a cab on Monday", {3}),
        ("Tuesday next week", {4}),
        ("make it the 23rd", {3}),
        ("el 12, por favor", {22}),
        ("I need two rooms", set()),
    ],
)
def test_days_are_read_from_today(text: str, days: set[int]) -> None:
    """Words for days, weekdays and days of the month mean the coming ones."""
    assert _dates(text) == {FRIDAY + timedelta(days=number) for number in days}


def test_a_later_weekday_of_this_week_may_mean_the_next_one_too() -> None:
    """Said on a Monday, "next Friday" is this week's or the one after it; "Friday" is this week's."""
    monday = date(2026, 11, 16)

    assert _dates("next Friday", monday) == {date(2026, 11, 20), date(2026, 11, 27)}
    assert _dates("on Friday", monday) == {date(2026, 11, 20)}


def test_the_31st_is_in_the_next_month_that_has_one() -> None:
    """A month without such a day is passed over."""
    assert _dates("until the 31st") == {date(2026, 12, 31)}


@pytest.mark.parametrize(
    ("text", "times"),
    [
        ("five: 5 in the evening", {(17, 0)}),
        ("at 10 in the morning", {(10, 0)}),
        ("evening 5 is fine", {(17, 0)}),
        ("at 3 o'clock in the afternoon", {(15, 0)}),
        ("12 in the afternoon", {(12, 0)}),
        ("a las 5 de la tarde", {(17, 0)}),
        ("5 בערב", {(17, 0)}),
        ("for 5 people", set()),
        ("18 in the evening", set()),
    ],
)
def test_an_hour_beside_a_part_of_the_day_is_one_time(text: str, times: set[tuple[int, int]]) -> None:
    """A bare hour says no time, unless a part of the day stands beside it."""
    assert _times(text) == times


def test_a_reply_may_repeat_what_was_meant_and_nothing_else() -> None:
    """The day and the time are those that the user named; others have no source."""
    evidence = Evidence(datetime(2026, 11, 20, 10, 30, tzinfo=UTC))
    evidence.add_said("A table for two tomorrow at 8 in the evening", "message")

    assert not check("So that is 21 November at 8 pm, right?", evidence).violations
    assert [found.text for found in check("So that is 22 November at 9 pm, right?", evidence).violations] == [
        "22 November",
        "9 pm",
    ]


def test_a_day_without_a_month_is_near_the_date_before_it() -> None:
    """Who arrives on 12 January and leaves "on the 14th" leaves in January."""
    evidence = Evidence(datetime(2026, 11, 20, 10, 30, tzinfo=UTC))
    evidence.add_said("We arrive on 12 January 2027 and leave on the 14th", "message")

    assert not check("You leave on Thursday the fourteenth.", evidence).violations
    assert [found.text for found in check("You leave on Saturday the sixteenth.", evidence).violations] == [
        "Saturday the sixteenth"
    ]


def test_clocks_that_the_user_says_are_ahead() -> None:
    """A time may be told by them."""
    meeting = {"start": "2027-03-01T09:00:00-03:30", "end": "2027-03-01T09:45:00-03:30"}
    said = "Find time with Ingunn. She is in Bergen, four and a half hours ahead of me."

    assert refused("From 9:00 to 9:45, which is 13:30 in Bergen.", meeting, said=said) == []
    assert refused("From 9:00 to 9:45, which is 14:30 in Bergen.", meeting, said=said) == ["14:30"]
