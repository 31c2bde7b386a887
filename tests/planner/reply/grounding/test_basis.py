"""An amount is for one night or all of them, for one person or all of them."""

import pytest

from tests.planner.reply.grounding.replies import refused
from turnloom.planner.reply.grounding.lexicon import spoken, unbroken

HOTEL = {"hotel": {"name": "Les Tilleuls", "currency": "EUR", "price_per_night": 168}}
FLIGHT = {"flight": {"number": "IZ 216", "currency": "EUR", "price_per_person": 119}}


@pytest.mark.parametrize("said", ["a night", "pro Nacht", "per night", "per nacht", "por noite"])
def test_a_nights_price_is_said_of_a_night(said: str) -> None:
    """It passes with its basis, in any language."""
    assert refused(f"Les Tilleuls is €168 {said}.", HOTEL) == []


@pytest.mark.parametrize(
    "said",
    ["for your whole stay", "for all three nights", "für drei Nächte", "par séjour", "in total", "por toda la estadía"],
)
def test_a_nights_price_is_not_said_of_a_stay(said: str) -> None:
    """The words for a stay have words between them."""
    assert refused(f"Les Tilleuls is €168 {said}.", HOTEL, said="Three nights") == ["€168"]


def test_a_price_that_a_text_has_for_another_time_is_not_calculated_anew() -> None:
    """It is the third of another price, and means the one beside it."""
    cot = {"topic": "cot", "answer": "A cot in your room costs 5 EUR a night, and it is made up for you."}
    walk = {"topic": "walk", "answer": "The guided walk across the flats takes half a day and costs 16 EUR per person."}
    house = {"nights": 3, "answers": [cot, walk]}

    assert refused("Das Babybett kostet 5 € pro Nacht.", house) == []
    assert refused("Das Babybett kostet 5 € pro Woche.", house) == ["5 €"]


def test_a_persons_price_is_not_said_of_all() -> None:
    """Both pay twice as much."""
    assert refused("IZ 216 is €119 per person, so €238 for both of you.", FLIGHT) == []
    assert refused("IZ 216 is €119 for both of you.", FLIGHT) == ["€119"]


@pytest.mark.parametrize(
    "car", [{"per_day": 41}, {"note": "A compact car with five doors for 41 EUR a day, with all kilometres included."}]
)
def test_a_price_for_a_day_is_none_for_all_of_them(car: dict[str, object]) -> None:
    """A field says so, or the words beside the amount."""
    cars = {"days": 3, "cars": [{"model": "Golf", "currency": "EUR", **car}]}

    assert refused("The Golf is €41 a day.", cars) == []
    assert refused("The Golf is €41 in total.", cars) == ["€41"]


@pytest.mark.parametrize(
    ("field", "said"), [("gesamtpreis", "pro Person"), ("price_total", "each"), ("total", "a testa")]
)
def test_what_all_pay_is_not_said_of_each(field: str, said: str) -> None:
    """In any language."""
    assert refused("It comes to €640.", {"currency": "EUR", "guests": 3, field: 640}) == []
    assert refused(f"It comes to €640 {said}.", {"currency": "EUR", "guests": 3, field: 640}) == ["€640"]


def test_an_amount_in_a_currency_that_nothing_has_is_not_computed() -> None:
    """The same calculation passes in the currency of the results."""
    tickets = {"currency": "EUR", "zones": [{"name": "Stalls", "price": 38}, {"name": "Balcony", "price": 24}]}

    assert refused("The balcony is €14 less than the stalls.", tickets) == []
    assert refused("The balcony is CHF 14 less than the stalls.", tickets) == ["CHF 14"]


def test_a_blank_before_an_alternative_in_brackets_counts() -> None:
    """Only the blanks that a line's end leaves between alternatives do not."""
    pattern = unbroken("for (?:the |all )?nights |nuits")

    assert spoken(pattern).search("for all nights")
    assert spoken(pattern).fullmatch("nuits")
