"""Two names that stand as one thing are those of one thing."""

import pytest

from tests.planner.reply.grounding.replies import refused

HOTELS = {
    "hotels": [
        {"name": "Casa do Bairro", "area": "Baixa", "stars": 3, "price_per_night": 96.0, "currency": "EUR"},
        {"name": "Pousada Real", "area": "Belém", "stars": 5, "price_per_night": 214.0, "currency": "EUR"},
    ]
}
FLIGHTS = {
    "flights": [
        {"carrier": "Fiji Airways", "flight_number": "FJ448", "price": 486.0, "currency": "NZD"},
        {"carrier": "Air New Zealand", "flight_number": "NZ752", "price": 520.0, "currency": "NZD"},
    ]
}


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("Casa do Bairro in Baixa has three stars.", "Casa do Bairro in Belém has three stars."),
        ("La Pousada Real en Belém.", "La Pousada Real en Baixa."),
        ("The Pousada Real (Belém) is dear.", "The Pousada Real (Baixa) is dear."),
    ],
)
def test_a_place_behind_a_name_is_its_own(right: str, wrong: str) -> None:
    """The word between them makes the second a part of the first."""
    assert refused(right, HOTELS) == []
    assert refused(wrong, HOTELS) != []


def test_a_flight_is_its_airlines() -> None:
    """The number behind "flight" is one of the airline before it."""
    assert refused("The Fiji Airways flight FJ448 costs NZ$486.", FLIGHTS) == []
    assert refused("The Air New Zealand flight FJ448 costs NZ$486.", FLIGHTS) == ["FJ448"]


def test_a_code_ends_where_japanese_goes_on() -> None:
    """There is no blank between a flight and what is said of it."""
    assert refused("FJ448便は486ドルです。", FLIGHTS) == []
    assert refused("FJ448便は520ドルです。", FLIGHTS) == ["520ドル"]


def test_names_that_are_listed_or_compared_are_no_pair() -> None:
    """A comma, "and" and "or" stand between different things."""
    assert refused("Casa do Bairro and Pousada Real are free, Baixa or Belém is up to you.", HOTELS) == []
