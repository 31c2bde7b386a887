"""Sentences that must not be said are left out of a text."""

import pytest

from turnloom.planner.reply.grounding import Violation
from turnloom.planner.reply.sentence_stream import without_violations


@pytest.mark.parametrize(
    ("text", "refused", "left"),
    [
        ("One is fine. It costs €85 there. Shall I go on?", ["€85"], "One is fine. Shall I go on?"),
        ("Here:\n- Inn: €85\n- Lodge: €90\n", ["€85"], "Here:\n- Lodge: €90"),
        ("It costs €85", ["€85"], ""),
        ("A first. B €85 or €86. C €87! D.", ["€85", "€86", "€87"], "A first. D."),
        ("Nothing is wrong here.", [], "Nothing is wrong here."),
    ],
    ids=["sentence", "line", "all", "several", "none"],
)
def test_a_sentence_with_a_violation_goes(text: str, refused: list[str], left: str) -> None:
    """The other sentences stay as they are."""
    violations = [Violation(each, "money", "no_source", text.index(each), text.index(each) + 3) for each in refused]

    assert without_violations(text, violations) == left


def test_a_violation_over_several_sentences_takes_them_all() -> None:
    """Sentences between its beginning and its end are not sent either."""
    text = "Call Dana. Or\nLevi. Goodbye."

    assert without_violations(text, [Violation("Dana. Or\nLevi", "personal", "personal", 5, 18)]) == "Goodbye."
