"""A count may be a sum or a difference only if it is one."""

import pytest

from tests.planner.reply.grounding.replies import refused

ROOMS = {
    "items": [
        {"name": "Twin Room", "rooms_left": 3, "price": 612},
        {"name": "Family Room", "rooms_left": 2, "price": 849},
        {"name": "Corner Suite", "rooms_left": 4, "price": 1275},
    ],
    "rooms": [],
}
POINTS = {"points": [{"name": "Kiosk", "parcel_days": 7}, {"name": "Petrol Station", "parcel_days": 10}]}


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("There are 9 rooms left altogether.", False),
        ("There are 11 rooms left altogether.", True),
        ("That is an average of 3 rooms each.", False),
    ],
)
def test_a_total_of_counts_is_their_sum(text: str, wrong: bool) -> None:
    """A word such as "altogether" lets no other number pass."""
    assert bool(refused(text, ROOMS)) == wrong


def test_a_difference_of_counts_is_theirs() -> None:
    """It may be between a thing that the sentence names and another one."""
    assert refused("The Petrol Station keeps it 3 days longer than the Kiosk.", POINTS) == []
    assert refused("The Petrol Station keeps it 5 days longer than the Kiosk.", POINTS) != []


@pytest.mark.parametrize(
    ("text", "is_of_rest"),
    [
        ("In der Tabelle stehen {n} weitere.", True),
        ("יש עוד {n} בטבלה.", True),
        ("表にはほかに{n}件あります。", True),
        ("Die Tabelle hat {n}.", False),
    ],
)
def test_how_many_a_text_leaves_out_is_less_than_a_list_has(text: str, is_of_rest: bool) -> None:
    """A word such as "further" lets no larger number pass."""
    options = {"options": [{"room": f"Room {chr(65 + number)}", "price": 90 + number} for number in range(26)]}

    assert bool(refused(text.format(n=23), options)) != is_of_rest
    assert refused(text.format(n=73), options) != []
