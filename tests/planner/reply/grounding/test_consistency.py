"""Two amounts of which one is said to follow from the other must be a multiple, or apart, as is said."""

import pytest

from tests.planner.reply.grounding.replies import refused

ROOMS = {
    "nights": 3,
    "currency": "EUR",
    "rooms": [{"name": "Carmel", "price_total": 2070}, {"name": "Beach", "price_total": 2880}],
}
SAID = "At most 2500 euros for 3 nights"


@pytest.mark.parametrize(
    "reply", ["Carmel is €690 a night, so €2,070 for the stay.", "Carmel is €2,070, which is €430 below your €2,500."]
)
def test_what_follows_may_be_said(reply: str) -> None:
    """A night is a share of the stay, and the rest is the difference."""
    assert refused(reply, ROOMS, said=SAID) == []


@pytest.mark.parametrize(
    "reply", ["Carmel is €960 a night, so €2,070 for the stay.", "Carmel is €2,070, which is €390 below your €2,500."]
)
def test_what_does_not_follow_may_not(reply: str) -> None:
    """960 is the price of a night, but of another room."""
    assert refused(reply, ROOMS, said=SAID)


OPTIONS = {
    "currency": "EUR",
    "options": [
        {"name": "Carmel", "rate": "room only", "price": 400},
        {"name": "Carmel", "rate": "breakfast", "price": 470},
        {"name": "Beach", "rate": "room only", "price": 550},
        {"name": "Beach", "rate": "breakfast", "price": 640},
    ],
}


@pytest.mark.parametrize(
    ("reply", "is_wrong"),
    [
        ("Beach costs €150 more than Carmel.", False),
        ("Beach costs €150 less than Carmel.", True),
        ("Carmel ist 150 € günstiger als Beach.", False),
        ("Carmel ist 150 € teurer als Beach.", True),
        ("For the two of you, Carmel costs €300 less than Beach.", False),
        ("For the two of you, Carmel costs €300 more than Beach.", True),
        ("Beach with breakfast is €640, which is €140 over your budget.", False),
        ("Beach with breakfast is €640, which is €140 under your budget.", True),
        ("Beach with breakfast is €640. That is €140 below your limit.", True),
    ],
)
def test_a_difference_has_a_direction(reply: str, is_wrong: bool) -> None:
    """Two prices that are so far apart say which of them is less, also where a name has several."""
    assert bool(refused(reply, OPTIONS, said="A hotel, my budget is 500 euros")) == is_wrong


@pytest.mark.parametrize(
    ("reply", "is_wrong"),
    [
        ("Carmel for €400 and Beach for €550 make €950 together.", False),
        ("Carmel for €400 and Beach for €550 make €870 together.", True),
        ("Carmel for €400 and Beach for €550 come to €1,900 in total for two.", False),
        ("Zusammen 950 €: Carmel für 400 € und Beach für 550 €.", False),
        ("Carmel for €400, Beach for €550, altogether €1,590 with Beach's breakfast.", False),
    ],
)
def test_what_amounts_make_together_is_their_sum(reply: str, is_wrong: bool) -> None:
    """870 is what the breakfasts make, so it has an arithmetic, but not of these two."""
    found = refused(reply, OPTIONS)
    assert bool(found) == is_wrong


COURSE = {"currency": "EUR", "course": {"fee": 390, "lessons": 1300, "drives": 948, "test": 170}}


@pytest.mark.parametrize(
    "reply",
    [
        "It would be €2,808: 390 for the fee, 1,300 for lessons, 948 for drives and 170 for the test.",
        "It would be €2,808:\n- fee €390\n- lessons €1,300\n- drives €948\n- test €170",
        "- fee €390\n- lessons €1,300\n- drives €948\n- test €170\n- total €2,808",
    ],
)
def test_a_total_follows_from_the_parts_that_it_lists(reply: str) -> None:
    """Another total does not, whatever parts it has, and each part needs a source of its own."""
    assert refused(reply, COURSE) == []
    assert refused(reply.replace("2,808", "2,880"), COURSE) == ["€2,880"]
    assert refused(reply.replace("170", "175").replace("2,808", "2,813"), COURSE) != []


def test_an_item_of_a_list_is_no_sum_of_the_next_ones() -> None:
    """They stand beside each other."""
    courses = {"currency": "EUR", "courses": [{"price": 999}, {"price": 128}, {"price": 104}, {"price": 79}]}

    assert refused("- Course A: €311\n- Course B: €128\n- Course C: €104\n- Course D: €79", courses) == ["€311"]


@pytest.mark.parametrize("reply", ["Norwind has 380 people more.", "With 1500 shekels you'd have 220 left."])
def test_a_remainder_counts_nothing_that_a_result_counts(reply: str) -> None:
    """How many more, or how much is left, follows from two numbers, though other fields count the same."""
    firms = {"firms": [{"name": "Norwind", "people": 1240}, {"name": "Solvik", "people": 860}]}
    known = {**firms, "left": 7, "room": {"currency": "ILS", "price_total": 1280}}
    altered = reply.replace("380", "390").replace("220", "230")

    assert refused(reply, known, said="I have 1500 shekels") == []
    assert refused(altered, known, said="I have 1500 shekels") != []


def test_plus_before_an_amount_is_no_comparison() -> None:
    """In French it may mean "more"."""
    gym = {"currency": "EUR", "plan": {"name": "Annual", "price_month": 45, "months": 12, "joining_fee": 25}}

    assert refused("Annual is 12 \u00d7 €45 plus a €25 joining fee, so €565.", gym) == []


def test_a_share_is_one_of_an_amount_before_it() -> None:
    """It need not be the last one, but must be one of some."""
    ferry = {"currency": "EUR", "lines": [{"name": "Tirreno", "price": 129}, {"name": "Mare Blu", "price": 149}]}
    said = "For two people, at most 200 euros"

    assert refused("With Tirreno's €129 you keep €71 of your 200, so you pay €64.50 each.", ferry, said=said) == []
    assert refused("With Tirreno's €129 you keep €71 of your 200, so you pay €74.50 each.", ferry, said=said) != []


def test_a_percentage_is_that_of_what_is_used() -> None:
    """Of yours, too, and with decimals."""
    plan = {"name": "Flex 10", "data_gb": 10, "used_gb": 8.4}

    assert refused("You've used 8.4 of your 10 GB, that's 84%.", plan) == []
    assert refused("You've used 8.4 of your 10 GB, that's 86%.", plan) == ["86%"]


def test_an_amount_in_two_currencies_is_no_part_of_a_total() -> None:
    """It is refused, and the amounts beside it are judged."""
    assert refused("That is 10 EUR: 4 EUR, £5 EUR and 1 EUR.", {"a": {"price": 4, "currency": "EUR"}}) != []
