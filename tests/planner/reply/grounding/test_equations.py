"""A calculation that a reply writes out gives what it says."""

import pytest

from tests.planner.reply.grounding.replies import refused

PRICES = {
    "passage": "The tour is EUR 35 for adults and EUR 20 for children. The tax is EUR 2.80 for each person and night."
}
PARTY = {"adults": 2, "children": 2, "nights": 5}


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("2 \u00d7 €35 + 2 \u00d7 €20 = €110", "2 \u00d7 €35 + 2 \u00d7 €20 = €90"),
        ("You pay 2 x 35 + 2 x 20 = 110 €.", "You pay 2 x 35 + 2 x 20 = 75 €."),
        ("2 Erwachsene \u00d7 5 Nächte \u00d7 2,80 € = 28 €", "2 Erwachsene \u00d7 5 Nächte \u00d7 2,80 € = 14 €"),
        (
            "大人35ユーロ\u00d72名\uff0bお子様20ユーロ\u00d72名\uff1d110ユーロです。",
            "大人35ユーロ\u00d72名\uff0bお子様20ユーロ\u00d72名\uff1d55ユーロです。",
        ),
    ],
)
def test_equations(right: str, wrong: str) -> None:
    """What is behind the sign of equality is what is before it, whatever other calculation would give it."""
    assert refused(right, PRICES, PARTY) == []
    assert refused(wrong, PRICES, PARTY) != []


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (
            "For all of you €110: two adults at €35 and two children at €20.",
            "For all of you €75: two adults at €35 and two children at €20.",
        ),
        ("Zusammen 110 €: zweimal 35 € und zweimal 20 €.", "Zusammen 95 €: zweimal 35 € und zweimal 20 €."),
        ("In all €90: two adults for €70, one child for €20.", "In all €105: two adults for €70, one child for €20."),
    ],
)
def test_a_total_before_its_parts(right: str, wrong: str) -> None:
    """What stands before a colon is what the amounts behind it add up to."""
    assert refused(right, PRICES, PARTY) == []
    assert refused(wrong, PRICES, PARTY) != []
