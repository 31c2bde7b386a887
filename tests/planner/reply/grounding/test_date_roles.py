"""A day on which one flies home, arrives, leaves or must choose is one that the results have for it."""

import pytest

from tests.planner.reply.grounding.replies import refused

FLIGHTS = {
    "origin": "Porto",
    "destination": "Oslo",
    "results": [
        {"flight_number": "TP750", "origin": "OPO", "destination": "OSL", "departs": "2026-12-04T07:00:00+00:00"},
        {"flight_number": "TP751", "origin": "OSL", "destination": "OPO", "departs": "2026-12-08T13:00:00+01:00"},
    ],
}
FORECAST = {"days": [{"date": f"2026-12-0{day}", "summary": "snow"} for day in range(4, 9)]}
STAY = {"check_in": "2026-12-04", "check_out": "2026-12-08", "options": []}
HELD = {"proposals": [{"start": "2026-11-24T13:00:00Z"}], "expires_at": "2026-11-22T12:00:00Z"}


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("You fly out on 4 December and come home on the 8th of December.", "You fly out on 5 December."),
        ("You come back on Tuesday, 8 December.", "You come back on Monday, 7 December."),
        ("La vuelta es el 8 de diciembre.", "La vuelta es el 7 de diciembre."),
        ("お帰りは12月8日です。", "お帰りは12月7日です。"),
    ],
)
def test_out_and_back(right: str, wrong: str) -> None:
    """The days between are days of the forecast."""
    assert refused(right, FLIGHTS, FORECAST) == []
    assert refused(wrong, FLIGHTS, FORECAST) != []


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("Arrival is on 4 December.", "Arrival is on 5 December."),
        ("You check out on Tuesday, 8 December.", "You check out on Monday, 7 December."),
        ("Your last night is that of 7 December.", "Your last night is that of 8 December."),
        ("Anreise 4. Dezember, Abreise 8. Dezember.", "Anreise 4. Dezember, Abreise 6. Dezember."),
        (
            "Sie würden am 4. Dezember anreisen und am Dienstag, dem 8. Dezember, abreisen.",
            "Sie würden anreisen am 5. Dezember.",
        ),
    ],
)
def test_a_stay(right: str, wrong: str) -> None:
    """The first day, the last one, and the last night."""
    assert refused(right, STAY, FORECAST) == []
    assert refused(wrong, STAY, FORECAST) != []


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("The proposals expire on Sunday at 12:00.", "The proposals expire on Tuesday at 12:00."),
        ("They stay open until the day after tomorrow.", "They stay open until tomorrow."),
        ("Please let me know by tomorrow.", "Please let me know by Tuesday."),
        ("Die Vorschläge gelten bis Sonntag.", "Die Vorschläge gelten bis Dienstag."),
    ],
)
def test_the_last_day_to_choose(right: str, wrong: str) -> None:
    """A reply may ask for an earlier answer, not promise a later end."""
    assert refused(right, HELD) == []
    assert refused(wrong, HELD) != []


@pytest.mark.parametrize(
    "reply",
    [
        "Before your arrival, on 8 December at the latest, the sauna is open.",
        "Die letzte Nacht ist die vom 7. auf den 8. Dezember.",
        "Shall I look for a flight home on 7 December?",
    ],
)
def test_other_days_in_the_sentence_have_no_such_role(reply: str) -> None:
    """Another clause, a range, a question."""
    assert refused(reply, STAY, FORECAST) == []
