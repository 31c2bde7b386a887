"""Digits in other forms than 0 to 9 are digits."""

import pytest

from tests.planner.reply.grounding.replies import evidence
from turnloom.planner.reply.grounding import check

EVIDENCE = evidence()


@pytest.mark.parametrize(
    "text",
    [
        *(
            "①②⓪① ILS",
            "¹²³⁴ ILS",
            "₁₂₃₄ ILS",
            "&#49;&#50;&#51;&#52; ILS",
            "&#x31;&#x32;&#51;4 ILS",
            "\uff11\uff12\uff13\uff14 ILS",
        ),
        *(
            "\u0661\u0662\u0663\u0664 ILS",
            "१२३४ ILS",
            "\U0001d7cf\U0001d7d0\U0001d7d1\U0001d7d2 ILS",
            "⑫34 ILS",
            "&#8362;1234",
            "\uff041234",
            "\uff11\uff12\uff13\uff14 per night",
        ),
    ],
)
def test_digits_in_other_forms_are_read(text: str) -> None:
    """They may be circled, raised, full-width, entities or of another script. A sum in them needs a source."""
    assert [violation.kind for violation in check(text, EVIDENCE).violations] == ["money"]


def test_digits_in_other_forms_have_sources_too() -> None:
    """A true price may be written in them. A violation has its place in the text as it is."""
    assert check("①②⓪⓪ ILS, &#49;&#50;00 ILS, \uff11200 ILS", EVIDENCE).violations == ()
    text = "It is &#49;&#50;01 ILS, or ₪900."
    assert [text[found.start : found.end] for found in check(text, EVIDENCE).violations] == ["&#49;&#50;01 ILS"]
