"""A count belongs to the thing that a text, or a list, tells it of."""

import pytest

from tests.planner.reply.grounding.replies import refused

ROOMS = {
    "options": [
        {"room_name": "Garden Room", "price_total": 740.0, "currency": "EUR"},
        {"room_name": "Tower Suite", "price_total": 1280.0, "currency": "EUR"},
    ]
}
SIZES = {"answers": [{"answer": "The Garden Room has 21 square metres, the Tower Suite 44. The sauna holds 8 guests."}]}
HOTELS = {
    "results": [
        {"name": "Palm Beach", "stars": 5},
        {"name": "Coral Coast", "stars": 3},
        {"name": "Bure Lodge", "stars": 2},
    ]
}


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("The Garden Room has 21 square metres.", "The Garden Room has 44 square metres."),
        ("Die Tower Suite misst 44 m².", "Die Tower Suite misst 21 m²."),
        ("The Garden Room is booked often. It has 21 m².", "The Garden Room is booked often. It has 44 m²."),
        ("Garden Roomは21平方メートルです。", "Garden Roomは44平方メートルです。"),
    ],
)
def test_sizes_of_a_text_belong_to_its_rooms(right: str, wrong: str) -> None:
    """Also the one without its unit."""
    assert refused(right, ROOMS, SIZES) == []
    assert refused(wrong, ROOMS, SIZES) != []


@pytest.mark.parametrize(
    "reply",
    [
        "There are 21 m² in the Garden Room and 44 m² in the suite.",  # the suite is not named in full
        "It is 44 square metres: the Tower Suite.",
        "The Garden Room is near the sauna, which holds 8 guests.",
    ],
)
def test_what_no_name_stands_before_passes(reply: str) -> None:
    """It may be said of what stands behind it, or of something else."""
    assert refused(reply, ROOMS, SIZES) == []


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (
            "Palm Beach has five stars, Coral Coast three and Bure Lodge two.",
            "Palm Beach has five stars, Coral Coast two.",
        ),
        (
            "Palm Beach tiene cinco estrellas y Coral Coast, tres.",
            "Palm Beach tiene cinco estrellas y Coral Coast, cuatro.",
        ),
        ("Palm Beachは5つ星で、Coral Coastは3つ星です。", "Palm Beachは4つ星です。"),
        ("O Palm Beach tem 5 estrelas.", "O Palm Beach tem 4 estrelas."),
    ],
)
def test_stars_belong_to_their_hotel(right: str, wrong: str) -> None:
    """Also without the word, behind another one that has it, and in scripts without blanks."""
    assert refused(right, HOTELS) == []
    assert refused(wrong, HOTELS) != []


@pytest.mark.parametrize("reply", ["Both flights are direct.", "The two flights of TAP leave in the morning."])
def test_some_of_a_list_may_be_counted(reply: str) -> None:
    """Those that have one text, or no stops, in a field."""
    flights = [{"carrier": "TAP", "stops": []}, {"carrier": "TAP", "stops": []}, {"carrier": "Swiss", "stops": ["ZRH"]}]

    assert refused(reply, {"results": flights}) == []
    assert refused("I see four flights.", {"results": flights}) != []
