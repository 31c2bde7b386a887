"""Arithmetic takes the amounts and the counts that the sentence speaks of, and no others."""

import pytest

from tests.planner.reply.grounding.replies import refused

HOTELS = {
    "currency": "EUR",
    "nights": 2,
    "results": [
        {"name": "Casa Azul", "price_per_night": 94, "rating": 4.4, "discount": {"days_before": 30}},
        {"name": "Villa Verde", "price_per_night": 142, "rating": 4.6, "discount": {"days_before": 12}},
        {"name": "Hostal Sol", "price_per_night": 61, "rating": 3.9, "discount": {"days_before": 17}},
        {"name": "Torre Alta", "price_per_night": 238, "rating": 4.8, "discount": {"days_before": 45}},
    ],
}
STOPS = {"flights": [{"number": "A3 927", "minutes": 135, "stops": 1}, {"number": "A3 931", "stops": 2}]}


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("Two nights at the Casa Azul come to €188.", []),
        ("Two nights at the Casa Azul come to just under €190.", []),
        ("Two nights at the Casa Azul come to €284.", ["€284"]),  # the price of another one
        ("The Hostal Sol saves you €66 over two nights.", []),  # what it is compared with is not named
        ("The Torre Alta is €119 a night.", ["€119"]),  # half of a night's price is no night's price
        ("The Torre Alta is €119 per person and night.", []),
        ("The Hostal Sol is €187 in total.", ["€187"]),  # one price less two others
        ("The Casa Azul costs €124 for the stay.", ["€124"]),  # a price and a number of days
    ],
)
def test_an_amount_follows_from_those_of_its_own_thing(text: str, wrong: list[str]) -> None:
    """Neither another thing's price, nor a number that is no price, makes an amount right."""
    assert refused(text, HOTELS, said="Two nights for two") == wrong


def test_a_number_is_no_count_of_its_own() -> None:
    """One stop times 1,530 is no source of 1,530. The flight has a stop."""
    assert refused("It was 1,350 km, and no stops.", STOPS) == ["1,350", "stops"]
