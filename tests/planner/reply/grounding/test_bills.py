"""A figure may add up the amounts of the things that its sentence names."""

import pytest

from tests.planner.reply.grounding.replies import refused

HOTEL = {
    "nights": 3,
    "rooms": [
        {"name": "Alm", "price_total": 627.0, "currency": "EUR"},
        {"name": "Panorama", "price_total": 738.0, "currency": "EUR"},
        {"name": "Kamin", "price_total": 870.0, "currency": "EUR"},
    ],
    "answers": [
        {"topic": "dog", "answer": "A dog costs EUR 18 per night."},
        {"topic": "tax", "answer": "The tax is EUR 2.80 per person and night."},
    ],
}
SAID = "A room for 2, at most 750 euros"


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("With the dog, the Alm comes to €681.", "With the dog, the Alm comes to €618."),
        ("With dog and tax, the Alm would be €697.80.", "With dog and tax, the Alm would be €679.10."),
        ("With the dog, the Alm stays €69 below your limit.", "With the dog, the Alm stays €96 below your limit."),
    ],
)
def test_the_amounts_that_a_sentence_names_may_be_added(right: str, wrong: str) -> None:
    """Each thing counts once, so many times as there are nights and people. A limit of the user may be left over."""
    assert (refused(right, HOTEL, said=SAID), len(refused(wrong, HOTEL, said=SAID))) == ([], 1)


def test_two_amounts_of_one_object_may_be_added_and_compared() -> None:
    """The prices of a pass for an adult and for a child stand beside each other."""
    passes = {
        "currency": "EUR",
        "passes": [
            {"name": "Flex 5", "price_cents": {"adult": 28300, "youth": 21200}},
            {"name": "Flex 7", "price_cents": {"adult": 34800, "youth": 26100}},
        ],
    }

    assert refused("The Flex 7 is €609 for you both; the youth pays €87 less.", passes) == []
    assert refused("The Flex 7 is €619 for you both.", passes) == ["€619"]
