"""What is said of a thing must be true of this one: of the item above a line, of the offer with this price."""

import pytest

from tests.planner.reply.grounding.replies import refused

FLIGHTS = [
    {"flight_number": "HAT025", "departs": "04:00", "prices": {"economy": 149, "business": 368}},
    {"flight_number": "HAT068", "departs": "11:00", "prices": {"economy": 107, "business": 281}},
    {"flight_number": "HAT085", "departs": "06:00", "prices": {"economy": 114, "business": 293}},
]
PAID = {"bookings": [{"name": "Economy saver", "fee": 3}, {"name": "Business", "fee": 4}]}
OFFER = """I found three flights:

1. **Flight HAT025**
   - Departure: 04:00
   - Economy price: $149
2. **Flight HAT068**
   - Departure: 11:00
   - Economy price: $107
"""


def test_the_lines_under_an_item_speak_of_what_it_names() -> None:
    """A word of another list in between, such as "economy", does not end that."""
    assert refused(OFFER, FLIGHTS, PAID) == []
    assert refused(OFFER.replace("$107", "$114"), FLIGHTS, PAID) == ["$114"]
    assert refused(OFFER.replace("11:00", "06:00"), FLIGHTS, PAID) == ["06:00"]


def test_a_number_that_counts_the_items_may_be_said() -> None:
    """The lines under the items are not counted with them."""
    seats = [{**flight, "flights_left": 9} for flight in FLIGHTS]

    assert refused(OFFER.replace("three", "2"), seats) == []


def test_an_amount_may_leave_its_currency_to_the_one_before_it() -> None:
    """Each of both is said of the name behind it."""
    rooms = [
        {"name": "Gentiane", "price": 474, "currency": "CHF"},
        {"name": "Chasseron", "price": 693, "currency": "CHF"},
    ]

    assert refused("Comptez 693 francs pour la Chasseron et 474 pour la Gentiane.", rooms) == []
    assert refused("Comptez 693 francs pour la Gentiane et 474 pour la Chasseron.", rooms) != []


HOTELS = {
    "currency": "EUR",
    "nights": 2,
    "rooms": [
        {"name": "Garden Double", "cancellable": False, "price_total": 666, "url": "https://a.example/1"},
        {"name": "Garden Double", "cancellable": True, "price_total": 740, "url": "https://a.example/2"},
        {"name": "Sea Suite", "cancellable": True, "price_total": 1360, "url": "https://a.example/3"},
    ],
}
ABOUT_RATES = {"answer": "Refundable rates can be cancelled. Other rates are not refundable."}


@pytest.mark.parametrize(
    "reply",
    [
        "The Garden Double at €666 is not refundable.",
        "The Garden Double at €740 is refundable, the other one is €666.",
        "Two nights come to €666, so €333 a night.",
        "[Sea Suite](https://a.example/3)",
        "The Garden Double is €666, and the Sea Suite is refundable.",
    ],
)
def test_a_price_tells_which_of_two_alike_is_meant(reply: str) -> None:
    """Two offers may have one name. What rates are in general says nothing of this one."""
    assert refused(reply, HOTELS, ABOUT_RATES) == []


@pytest.mark.parametrize(
    "reply",
    [
        "The Garden Double at €666 is refundable.",
        "The Garden Double at €740 is not refundable.",
        "The Garden Double is €222 a night.",
        "Two nights are €1,998 at €666 a night.",
        "[Sea Suite](https://a.example/1)",
    ],
)
def test_what_another_offer_has_is_not_said_of_it(reply: str) -> None:
    """Nor may a price for a night have been shared by three for a stay of two nights."""
    assert refused(reply, HOTELS, ABOUT_RATES)


MOVERS = {
    "quotes": [
        {"company": "Swift & Sons", "rating": 4.7, "crew": 3},
        {"company": "Budget Haul", "rating": 3.9, "crew": 2},
        {"company": "Gentle Giants", "rating": 4.9, "crew": 4},
    ]
}


@pytest.mark.parametrize(
    ("reply", "wrong"),
    [
        ("Ratings: Swift & Sons 4.7, Budget Haul 3.9, Gentle Giants 4.9.", []),
        ("Ratings: Swift & Sons 4.9, Budget Haul 3.9, Gentle Giants 4.9.", ["4.9"]),
        ("Swift & Sons are rated 4.6 and send three people.", ["4.6"]),
        ("Bewertet ist Gentle Giants mit 4,9.", []),
        ("Die Bewertung von Budget Haul ist 4,9.", ["4,9"]),
        ("They are rated highly and come within 1.5 km.", []),
        ("Ratings at a glance:\n- Swift & Sons: 4.7\n- Budget Haul: 3.9\n- Gentle Giants: 4.9", []),
        ("Ratings at a glance:\n- Swift & Sons: 4.7\n- Budget Haul: 4.9\n- Gentle Giants: 4.8", ["4.9", "4.8"]),
    ],
)
def test_a_rating_is_that_of_what_it_is_said_of(reply: str, wrong: list[str]) -> None:
    """It has a source, in a list of several too. A number that has a unit is no rating."""
    assert refused(reply, MOVERS) == wrong


def test_a_word_of_a_name_is_no_time() -> None:
    """Midnight is a part of a name here. Elsewhere it is a time."""
    rooms = {"rooms": [{"name": "Midnight Train", "rating": 4.8}, {"name": "Pirate Cove", "rating": 4.4}]}

    assert refused("Pirate Cove is shorter than Midnight Train. Midnight Train is the hardest.", rooms) == []
    assert refused("Pirate Cove begins at midnight.", rooms) == ["midnight"]
