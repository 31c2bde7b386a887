"""Days: whether a deed is said of the day that its result has, and "tomorrow" of the date of tomorrow."""

import pytest

from tests.planner.reply.grounding.replies import NOW
from turnloom.planner.reply.grounding import Evidence, ResultOrigin, check

PROPOSED = {
    "counterpart": "Priya Raman",
    "proposals": [
        {"start": "2026-11-23T09:30:00+00:00", "end": "2026-11-23T10:20:00+00:00"},
        {"start": "2026-11-24T13:00:00+00:00", "end": "2026-11-24T13:50:00+00:00"},
    ],
    "expires_at": "2026-11-20T16:00:00+00:00",
}
CONFIRMED = {"title": "Meeting with Priya", "start": "2026-11-24T13:00:00+00:00", "end": "2026-11-24T13:50:00+00:00"}


def _refused(reply: str) -> list[str]:
    """Return what may not be said today, on Friday 20 November 2026, after one of two proposals was confirmed."""
    given = Evidence(NOW)
    given.add_result(PROPOSED, ResultOrigin("schedule", deeds=frozenset({"proposed"})))
    given.add_result(CONFIRMED, ResultOrigin("confirm", deeds=frozenset({"confirmed", "scheduled"})))
    return [found.text for found in check(reply, given).violations]


@pytest.mark.parametrize(
    "reply",
    [
        "I confirmed the slot on 24 November; the other one was on Monday, 23 November.",
        "I have confirmed the Tuesday one for you.",
        "I booked fifty minutes with Priya on Tuesday.",
        "The proposals are valid until 16:00 today.",
        "You meet in four days, on the 24th.",
        "The meeting is four days from today, on 24 November.",
        "A room at the office costs an extra 9 days of notice.",  # "tra" would lead from today
        "That is 1.5 days from today, before 24 November.",
        "Das Treffen ist am Dienstag, nicht am Morgen, sondern um 13:00 Uhr.",
        "La reunión es el martes, no por la mañana, sino a las 13:00.",
    ],
)
def test_what_was_done_may_be_said_of_its_day(reply: str) -> None:
    """The other days may be told beside it."""
    assert _refused(reply) == []


@pytest.mark.parametrize(
    "reply",
    [
        "I have confirmed the slot on 23 November.",
        "I have confirmed the Monday one for you.",
        "I've booked a meeting room for you.",
        "It's confirmed: you meet tomorrow, 24 November.",
        "You meet on 24 November, tomorrow.",
        "The proposals are valid until 16:00 tomorrow.",
        "The meeting is six days from today, on 24 November.",
    ],
)
def test_another_day_is_refused(reply: str) -> None:
    """A proposal that was not confirmed, and a day that is not so many days from now."""
    assert _refused(reply) != []


def test_how_long_it_is_from_now_may_be_said() -> None:
    """The user's clock shows 09:30."""
    assert _refused("The proposals expire at 16:00, so in six and a half hours from now.") == []
    assert _refused("The proposals expire at 16:00, so in five hours from now.") != []


def test_a_day_without_anything_may_be_named() -> None:
    """A weekday that no result has is only denied."""
    assert _refused("Nothing was proposed for Wednesday.") == []
    assert _refused("The other slot is on Wednesday.") != []
