"""How many of a thing are left is what the results have for it."""

import pytest

from tests.planner.reply.grounding.replies import refused

ROOMS = {
    "options": [
        {"room_name": "Garden Room", "price_total": 420, "currency": "EUR", "quota": 3},
        {"room_name": "Harbour Suite", "price_total": 690, "currency": "EUR", "quota": 1},
        {"room_name": "Attic Twin", "price_total": 380, "currency": "EUR", "quota": 5},
    ]
}
SLOTS = {"proposals": [{"start": f"2026-11-2{day}T10:00:00Z"} for day in (3, 4, 5)]}


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("There are only three Garden Rooms.", "There are only two Garden Rooms."),
        (
            "- Garden Room: €420 (3 left)\n- Attic Twin: €380 (5 left)",
            "- Garden Room: €420 (2 left)\n- Attic Twin: €380 (5 left)",
        ),
        ("Vom Garden Room gibt es nur noch drei.", "Vom Garden Room gibt es nur noch zwei."),
        ("Del Attic Twin quedan cinco.", "Del Attic Twin quedan cuatro."),
        ("Three rooms are free: Garden Room, Harbour Suite and Attic Twin.", "Of the Attic Twin two are left."),
        ("You have only 15 minutes left.", "The Attic Twin: only 4 left."),
    ],
)
def test_left(right: str, wrong: str) -> None:
    """As many as the thing that is named has, and not as many as another one."""
    assert refused(right, ROOMS) == []
    assert refused(wrong, ROOMS) != []


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("The other two slots were on Tuesday and Wednesday.", []),
        ("Die anderen beiden Vorschläge brauchen wir nicht mehr.", []),
        ("Four slots came up.", ["Four slots", "Four"]),
    ],
)
def test_all_but_one_of_a_list(text: str, wrong: list[str]) -> None:
    """The others of three are two."""
    assert refused(text, SLOTS) == wrong
