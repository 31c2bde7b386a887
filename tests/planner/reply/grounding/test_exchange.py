"""Two amounts may be said of each other if a rate of a result turns the one into the other."""

import pytest

from tests.planner.reply.grounding.replies import refused

LATEST = {"base": "USD", "rates": {"EUR": 0.9215, "JPY": "151.32"}}
PAIR = {"from": "USD", "to": "EUR", "points": [{"date": "2026-11-18", "rate": 0.9302}]}


@pytest.mark.parametrize(
    ("result", "reply", "wrong"),
    [
        (LATEST, "500 dollars are €460.75.", []),
        (LATEST, "500 dollars are €470.75.", ["500 dollars", "€470.75"]),
        (LATEST, "One euro is about $1.09.", []),
        (LATEST, "One euro is about $1.19.", ["One euro", "$1.19"]),
        (LATEST, "100 USD would be ¥15,132.", []),
        (PAIR, "With the rate of 18 November, $500 were €465.10.", []),
        (PAIR, "With the rate of 18 November, $500 were €460.75.", ["$500", "€460.75"]),
        ({"currency": "USD", "price": 500}, "$500 are €460.75.", ["€460.75"]),
    ],
)
def test_an_amount_may_be_exchanged(result: dict[str, object], reply: str, wrong: list[str]) -> None:
    """Nobody need have named either amount. Without a rate there is no exchange."""
    assert refused(reply, result) == wrong


def test_a_result_without_end_is_not_searched_to_its_end() -> None:
    """A field that is named like a rate is none where no two currencies are."""
    deep: dict[str, object] = {"rate": 0.5}
    for _ in range(300):
        deep = {"base": "USD", "inner": deep}

    assert refused("100 dollars are €50.", deep, {"rate": True, "from": "USD", "to": "EUR"}) == ["100 dollars", "€50"]
