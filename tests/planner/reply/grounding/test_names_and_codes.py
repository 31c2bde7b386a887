"""Names of which one part is known, short codes, and the scheme of a link."""

import pytest

from tests.planner.reply.grounding.replies import refused

MEETING = {"counterpart": "Priya Raghunathan", "counterpart_user_id": "priya", "uid": "7b2f", "title": "Budget review"}
ROOMS = {
    "options": [
        {"room_name": "Garden Room", "room_type_code": "GRL", "price_total": 640.0, "currency": "EUR"},
        {"room_name": "Lake Banda", "room_type_code": "LKB", "price_total": 820.0, "currency": "EUR"},
    ]
}
HOUSE = {"answer": "The network is GuestNet, its password samaki72. The trial code is JUNI-21-START."}


@pytest.mark.parametrize(
    "reply",
    [
        "You are meeting Priya Raghunathan on that day.",
        "Would you like to meet Priya Tuesday at nine?",
        "## Garden Room Options",
        "Der Preis für das Zimmer steht fest.",
        "The Garden Room is free, and the Lake Banda is, too.",
        "Ask for Martha Jones at the desk.",
    ],
)
def test_a_known_name_a_heading_and_a_wholly_new_name_pass(reply: str) -> None:
    """Days are no surnames, headings have a capital in each word, and whom nobody knows is for the critic."""
    assert refused(reply, MEETING, ROOMS, HOUSE) == []


@pytest.mark.parametrize(
    ("reply", "name"),
    [
        ("You are meeting Priya Menon on that day.", "Priya Menon"),
        ("I've asked Jimena Raghunathan for a time.", "Jimena Raghunathan"),
        ("I'm holding the Garden Banda for you.", "Garden Banda"),
        ("La réunion avec Priya Fabre est fixée.", "Priya Fabre"),
    ],
)
def test_a_name_that_goes_on_otherwise_is_refused(reply: str, name: str) -> None:
    """One part stands in a name of the results, the other one nowhere, or in another name."""
    results = [MEETING, {"options": [{"room_name": "Lake Banda", "price": 1}, {"room_name": "Lake Suite", "price": 2}]}]

    assert refused(reply, *results) == [name]


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("The reference is 7b2f.", "The reference is 7f2b."),
        ("La referencia de la cita es 7b2f.", "La referencia de la cita es 7b8e."),
        ("The Garden Room (code GRL) is free.", "The Garden Room (code GLR) is free."),
        ("Choose GuestNet and enter samaki72.", "Choose GuestNet and enter samaki27."),
        ("Enter JUNI-21-START on the page.", "Enter JUNI-12-START on the page."),
    ],
)
def test_a_short_code_needs_its_source(right: str, wrong: str) -> None:
    """It stands behind a word for codes, or it has letters and digits that are no number with its unit."""
    assert refused(right, MEETING, ROOMS, HOUSE) == []
    assert refused(wrong, MEETING, ROOMS, HOUSE) != []


@pytest.mark.parametrize(
    "text", ["It opens at 14h30.", "The dress code is casual.", "It has 24h service and 100m pools."]
)
def test_times_and_measures_are_no_codes(text: str) -> None:
    """Nor is a word behind "code" that is written small."""
    assert refused(text, {"opens": "14:30", "service": "24h", "pools": "100m"}) == []


def test_a_link_is_not_said_with_less_safety() -> None:
    """Its scheme is a part of it, unless the result has none."""
    safe, plain, bare = ({"url": f"{scheme}stay.example.com/r/8"} for scheme in ("https://", "http://", ""))

    assert refused("Pay at http://stay.example.com/r/8", safe) != []
    assert [refused("Pay at http://stay.example.com/r/8", known) for known in (plain, bare)] == [[], []]
    assert [refused("Pay at https://stay.example.com/r/8", known) for known in (safe, plain, bare)] == [[], [], []]


def test_a_flight_is_read_before_japanese() -> None:
    """Its number ends where the sentence goes on without a blank."""
    flight = {"flight_number": "AY68"}

    assert refused("AY68便です。", flight) == []
    assert refused("AY86便です。", flight) == ["AY86"]


def test_a_title_is_no_part_of_a_name() -> None:
    """Nor is it an altered first name."""
    meeting = {"counterpart": "Wiebke Ahlers", "start": "2027-03-04T14:30:00+01:00"}

    assert refused("Sie treffen Frau Ahlers am 4. März.", meeting) == []
    assert refused("Sie treffen Frau Wiebke Ahrens am 4. März.", meeting) == ["Wiebke Ahrens"]
