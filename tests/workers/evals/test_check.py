"""Golden conversations are read from files and checked against turns, fact by fact."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from turnloom.models.errors import Invalid
from turnloom.workers.evals.check import first_difference
from turnloom.workers.evals.conversations import Expected, load_golden
from turnloom.workers.evals.values import difference, read_date

SUNDAY = date(2026, 11, 22)

STEP = {"status": "succeeded", "effect": "read", "needs": [], "cache": None, "result": None, "args": {}}
TURN: dict[str, Any] = {
    "status": "succeeded",
    "error": None,
    "steps": [
        {**STEP, "id": "dates", "tool": "dates.resolve_hint", "result": {"check_in": "2026-11-27"}},
        {**STEP, "id": "weather", "tool": "travel.lookup_weather", "cache": "memory"},
        {
            **STEP,
            "id": "hotels",
            "tool": "travel.search_hotels",
            "args": {"city": "Rome", "check_in": {"$from": "dates.check_in"}, "nights": 2},
            "needs": ["dates"],
        },
        {
            **STEP,
            "id": "room",
            "tool": "room.book",
            "effect": "write",
            "args": {"on": {"$from": "dates.check_in"}},
            "result": {"code": "SEA"},
        },
    ],
    "output": {"days": [1, 2]},
    "synthesis_hint": "compare",
    "reply": {
        "artifacts": [{"kind": "table", "title": "Hotel Due"}],
        "question": {"fields": ["city"], "choices": {"city": ["Rome"]}},
        "grounded": True,
        "text": "In Rome: Hotel Uno. Shall I book it?",
    },
    "usage": {"llm_calls": 2},
    "plans": [{}],
}
SLOTS = {"city": "Rome"}

HOLDS: list[dict[str, Any]] = [
    {},
    {"tools": ["travel.search_hotels", "dates.resolve_hint", "travel.lookup_weather", "room.book"]},
    {"status": ["failed", "succeeded"]},
    {"effects": {"room.book": {"on": {"$date": "friday"}, "code": "SEA"}}},
    {"asks": True, "artifacts": []},
    {"mentions": [["Hotel Quattro", "hotel due"]], "omits": ["Hotel Quattro"]},
    {"args": {"travel.search_hotels": {"city": "rome", "check_in": {"$date": "friday"}}}},
    {"edges": ["dates.resolve_hint -> travel.search_hotels"]},
    {"side_by_side": ["dates.resolve_hint", "travel.lookup_weather"]},
    {"outcomes": {"travel.search_hotels": "succeeded"}},
    {"remembered": ["travel.lookup_weather"]},
    {"slots": {"city": "Rome"}},
    {"output": {"days": {"$length": 2}}},
    {"artifacts": ["table"], "hint": "compare", "grounded": True},
    {"mentions": ["hotel uno", "Rome"]},
    {"question": ["city"], "choices": {"city": ["Rome"]}},
    {"llm_calls": 2, "revisions": 1},
]
DIFFERS: list[tuple[dict[str, Any], str]] = [
    ({"status": "failed"}, "status: 'succeeded', expected 'failed'"),
    ({"status": ["failed", "cancelled"]}, "status: 'succeeded', expected 'failed' or 'cancelled'"),
    ({"effects": {}}, "effects: ['room.book'], expected []"),
    ({"effects": {"room.book": {"code": "TWN"}}}, "room.book.code is 'SEA', expected 'TWN'"),
    ({"asks": False}, "asks: True, expected False"),
    ({"mentions": ["Rome", ["Hotel Quattro", "Uno!"]]}, "the reply does not mention 'Hotel Quattro' or 'Uno!'"),
    ({"omits": ["hotel due"]}, "the reply mentions 'hotel due'"),
    ({"error": "deadline"}, "error: None, expected 'deadline'"),
    ({"tools": ["travel.search_hotels"]}, "tools: "),
    ({"args": {"travel.search_hotels": {"nights": 3}}}, "travel.search_hotels.nights is 2, expected 3"),
    ({"args": {"travel.search_hotels": {"check_in": {"$date": "today"}}}}, "'2026-11-27', expected date 2026-11-22"),
    ({"args": {"travel.format_itinerary": {}}}, "travel.format_itinerary is not called"),
    ({"edges": ["travel.search_hotels -> dates.resolve_hint"]}, "no call of dates.resolve_hint waits for"),
    ({"side_by_side": ["dates.resolve_hint", "travel.search_hotels"]}, "travel.search_hotels waits for"),
    ({"outcomes": {"travel.search_hotels": "failed"}}, "status of travel.search_hotels: ['succeeded']"),
    ({"outcomes": {"sim.echo": "failed"}}, "status of sim.echo: []"),
    ({"remembered": ["travel.search_hotels"]}, "travel.search_hotels comes from a call"),
    ({"remembered": ["sim.echo"]}, "sim.echo comes from nowhere"),
    ({"slots": {"city": "Paris"}}, "slots.city is 'Rome', expected 'Paris'"),
    ({"output": {"days": {"$length": 3}}}, "output.days is [1, 2], expected length 3"),
    ({"artifacts": ["table", "card"]}, "artifacts: ['table'], expected ['card'] too"),
    ({"hint": "other"}, "hint: "),
    ({"grounded": False}, "grounded: True"),
    ({"question": []}, "question: ['city'], expected []"),
    ({"choices": {"city": {"$length": 2}}}, "choices.city is ['Rome'], expected length 2"),
    ({"llm_calls": 1}, "2 calls of the language model, expected 1 at most"),
    ({"revisions": 2}, "revisions: 1, expected 2"),
]


@pytest.mark.parametrize("expected", HOLDS, ids=str)
def test_a_met_expectation_is_no_difference(expected: dict[str, Any]) -> None:
    """Each expectation is checked alone, and expectations that are left out are not checked."""
    assert first_difference(Expected(**expected), TURN, SLOTS, SUNDAY) is None


@pytest.mark.parametrize(("expected", "told"), DIFFERS, ids=lambda value: str(value)[:60])
def test_an_unmet_expectation_is_described(expected: dict[str, Any], told: str) -> None:
    """Each expectation can fail, and its message says what was found and what was expected."""
    found = first_difference(Expected(**expected), TURN, SLOTS, SUNDAY)

    assert found is not None
    assert told in found


def test_a_turn_without_a_reply_is_a_difference() -> None:
    """A turn without a reply fails the check, and does not break the checker."""
    bare = {**TURN, "steps": [], "reply": None, "plans": []}

    assert first_difference(Expected(artifacts=["table"]), bare, {}, SUNDAY) == "artifacts: [], expected ['table'] too"


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("today", 22),
        ("today+3", 25),
        ("today-1", 21),
        ("sunday", 22),
        ("monday", 23),
        ("friday", 27),
        ("next_monday", 23),
        ("next_friday", 27),
        ("next_sunday", 29),
        ("friday+1", 28),
    ],
)
def test_dates_are_relative_to_the_day_of_the_message(text: str, day: int) -> None:
    """Weeks begin on Monday: on a Sunday, next Friday is in five days."""
    assert read_date(text, SUNDAY) == date(2026, 11, day)


@pytest.mark.parametrize("expected", [{"$date": "soon"}, {"$like": "x"}])
def test_a_meaningless_expectation_is_an_error(expected: dict[str, str]) -> None:
    """A mistake in a file is not reported as a difference."""
    with pytest.raises(ValueError, match=r"soon|\$like"):
        difference(expected, "2026-11-22", SUNDAY)


@pytest.mark.parametrize(
    ("expected", "found", "holds"),
    [
        ({"$one_of": ["Rome", "Paris"]}, "rome", True),
        ({"$at_most": 3}, 3, True),
        ({"$at_most": 3}, "2", False),
        ({"$any": True}, 0, True),
        ({"$any": True}, None, False),
        ({"$any": False}, None, True),
        (1, True, False),
        (2, 2.0, True),
        ([{"a": 1}], [{"a": 1, "b": 2}], True),
        ([1], [1, 2], False),
    ],
)
def test_values_are_compared_by_parts(expected: Any, found: Any, holds: bool) -> None:
    """Names are compared in any case, numbers by value, objects by the expected fields, and lists as a whole."""
    assert (difference(expected, found, SUNDAY) is None) == holds


def test_a_wrong_file_is_refused_with_its_name(tmp_path: Path) -> None:
    """The error names the file and the wrong field, or the agent without conversations."""
    file = tmp_path / "mine.yaml"
    file.write_text("agent: travel\nconversations: [{name: a, about: b, turns: [{say: hi, expect: {tool: []}}]}]\n")

    with pytest.raises(Invalid, match=r"(?s)mine.yaml.*tool"):
        load_golden([file])
    file.write_text("agent: travel\nconversations: [{name: a, about: b, turns: [{expect: {}}]}]\n")
    with pytest.raises(Invalid, match="say"):
        load_golden([file])
    file.write_text("agent: travel\nconversations: [{name: a, about: b, turns: [{say: hi, expect: {tools: []}}]}]\n")
    with pytest.raises(Invalid, match="hotel"):
        load_golden([file], ["hotel"])
    assert [golden.agent for golden in load_golden([file], ["travel"])] == ["travel"]
