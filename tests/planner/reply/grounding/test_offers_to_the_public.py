"""What people look up: places that anybody may call, rated things, departures by their time."""

from typing import Any

import pytest

from tests.planner.reply.grounding.replies import refused

CAFE = {"name": "Café Luna", "rating": 4.5, "phone_number": "+33 1 53 75 62 62", "street_address": "12 Harbour Road"}
DENTIST = {"dentist_name": "Akins Faren", "phone_number": "408-732-4412", "address": "990 West Fremont Avenue"}
GUEST = {"guest_name": "Dana Katz", "phone_number": "408-732-4412", "rating": 4}
NAMED = {"name": "Dana Katz", "phone_number": "408-732-4412"}
SELLER = {"first_name": "Dana", "last_name": "Katz", "phone_number": "408-732-4412", "rating": 4}
LEAD = {"company_name": "Katz Ltd", "contact_name": "Dana Katz", "phone_number": "408-732-4412"}
BUSES = [
    {"leaving": "06:20", "fare": 34, "currency": "USD"},
    {"leaving": "06:50", "fare": 47, "currency": "USD"},
    {"leaving": "09:10", "fare": 31, "currency": "USD"},
]
HOTELS = [
    {"place_name": "Grand Hotel Adria", "star_rating": "3", "price_per_night": "93"},
    {"place_name": "Alamo Inn", "star_rating": "2", "price_per_night": "52"},
    {"place_name": "12 Apostles", "star_rating": "5", "price_per_night": "210"},
]
HOTELS_IN_DOLLARS = [{**hotel, "currency": "USD"} for hotel in HOTELS]
FILM = [{"title": "The Farewell", "percent_rating": "99"}, {"title": "Good Boys", "percent_rating": "79"}]
READ = frozenset[str]()
"""The deeds of a tool that only reads."""


@pytest.mark.parametrize(
    ("reply", "result"),
    [
        ("Call them at +33 1 53 75 62 62; it is at 12 Harbour Road.", CAFE),
        ("Their number is 408-732-4412, at 990 West Fremont Avenue.", DENTIST),
    ],
)
def test_who_is_rated_or_works_for_the_public_may_be_called(reply: str, result: dict[str, Any]) -> None:
    """Nobody declares these contacts as public, but only places of business have such fields."""
    assert refused(reply, result) == []


@pytest.mark.parametrize("result", [GUEST, NAMED, SELLER, LEAD])
def test_a_person_may_not(result: dict[str, Any]) -> None:
    """A person stays a person, rated or not."""
    assert "408-732-4412" in refused("Her number is 408-732-4412.", result)


def test_an_amount_beside_a_time_belongs_to_what_leaves_then() -> None:
    """Nothing but its time names a departure."""
    assert refused("How about the bus at 6:50 am for $47?", BUSES) == []
    assert refused("The bus at 6:50 am costs $47.", BUSES) == []
    assert refused("The bus at 6:50 am costs $34.", BUSES) == ["$34"]


def test_a_word_for_a_kind_of_thing_is_no_name() -> None:
    """Though one is called Grand Hotel, "a hotel" may be any of them, and "3 hotels" are all."""
    assert refused("Alamo Inn is a 2 star hotel. It's a hotel for $52 a night.", HOTELS) == []
    assert refused("There are 3 hotels. One is a 5 star hotel called 12 Apostles.", HOTELS) == []
    assert refused("Alamo Inn is a 5 star hotel.", HOTELS) == ["5 star"]


def test_a_hundred_may_be_the_scale() -> None:
    """The end of a scale needs no source; what is measured on it does."""
    assert refused("Good Boys is rated 79 out of 100.", FILM) == []
    assert refused("Good Boys is rated 178 out of 100.", FILM) == ["178"]


def test_precipitation_is_a_chance_in_per_cent() -> None:
    """Interfaces of weather give it without its sign."""
    weather = {"precipitation": "19", "temperature": "90"}

    assert refused("The chance of rain is 19 percent.", weather) == []
    assert refused("The chance of rain is 29 percent.", weather) == ["29 percent"]


def test_a_full_stop_without_a_blank_is_no_link() -> None:
    """Endings such as .is and .you are words that begin sentences. Written small, they lead somewhere."""
    assert refused("It is booked.You will hear from us at the Patio.Is that right?", {}) == []
    assert refused("See booked.you for more.", {}) == ["booked.you"]


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("Alamo Inn is $41 cheaper than Grand Hotel Adria.", "Alamo Inn is $41 dearer than Grand Hotel Adria."),
        ("Grand Hotel Adria kostet 41 $ mehr als Alamo Inn.", "Grand Hotel Adria kostet 41 $ weniger als Alamo Inn."),
        ("12 Apostles es más caro que Alamo Inn.", "12 Apostles es más barato que Alamo Inn."),
    ],
)
def test_a_comparison_of_two_named_prices_must_be_the_right_way_round(right: str, wrong: str) -> None:
    """The difference alone does not tell which of the two is the cheaper one."""
    assert refused(right, HOTELS_IN_DOLLARS) == []
    assert len(refused(wrong, HOTELS_IN_DOLLARS)) == 1


@pytest.mark.parametrize(
    "reply",
    [
        "Is Alamo Inn dearer than Grand Hotel Adria?",
        "Alamo Inn isn't dearer than Grand Hotel Adria.",
        "Le moins cher est Alamo Inn, à 52 $.",
    ],
)
def test_what_compares_nothing_may_be_said(reply: str) -> None:
    """Questions, denials and superlatives."""
    assert refused(reply, HOTELS_IN_DOLLARS) == []


def test_the_phone_of_a_service_is_where_its_result_names_nobody() -> None:
    """Beside prices and opening times stands the number to call; in a record it is somebody's."""
    plans = {"plans": [{"name": "Plus", "monthly": 249}], "trial_days": 7, "phone": "03-555-0188"}

    assert refused("Call 03-555-0188.", plans, deeds=READ) == []
    for of_somebody in ({"order_id": "A1"}, {"name": "Dana"}, {"customer": "LG-204"}, {"email": "dana@example.com"}):
        assert "03-555-0188" in refused("Call 03-555-0188.", {**plans, **of_somebody}, deeds=READ)
    assert "03-555-0188" in refused("Call 03-555-0188.", {"phone": "03-555-0188", "label": "mobile"}, deeds=READ)
    assert "03-555-0199" in refused("Call 03-555-0199.", {**plans, "guest": {"phone": "03-555-0199"}}, deeds=READ)


def test_what_a_service_has_done_comes_with_its_own_contacts() -> None:
    """A booking has a number and a place to go to. Who it was made for keeps a phone number of their own."""
    booked = {"ref": "ER-7Q4K", "guests": 4, "address": "27 Elm Street", "phone": "03-555-0188"}

    assert refused("Call 03-555-0188, or come to 27 Elm Street.", booked, deeds=frozenset({"booked"})) == []
    assert "03-555-0188" in refused("Call 03-555-0188.", booked, deeds=READ)
    for somebody in ({"name": "Dana"}, {"guest": "Dana"}, {"email": "dana@example.com"}, {"passport": "X123456"}):
        assert "03-555-0188" in refused("Call 03-555-0188.", {**booked, **somebody})


def test_a_quote_is_nobodys_record() -> None:
    """Its number and its link say nothing of whom it is for, as an order's number does."""
    plans = {"quote_id": "Q-55", "order_url": "https://example.com/order", "plans": [{"monthly": 249}]}

    assert refused("Call 03-555-0188.", {**plans, "phone": "03-555-0188"}, deeds=READ) == []
    assert "03-555-0188" in refused("Call 03-555-0188.", {**plans, "order": 7, "phone": "03-555-0188"}, deeds=READ)


def test_rates_may_be_listed_under_their_base() -> None:
    """As interfaces of banks give them."""
    rates = {"base": "GBP", "rates": [{"currency": "EUR", "rate": 1.142}, {"currency": "CHF", "rate": 1.0655}]}

    assert refused("For £500 you'd get €571.", rates, said="I have 500 pounds") == []
    assert refused("For £500 you'd get €581.", rates, said="I have 500 pounds") != []


def test_a_name_of_a_hotel_is_no_number() -> None:
    """Though "grand" may stand for a thousand."""
    assert refused("Alamo Inn is smaller than Grand Hotel Adria.", HOTELS) == []
