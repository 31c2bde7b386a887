"""The days on which something is closed, and those from which to which it is open, are the ones of the results."""

import pytest

from tests.planner.reply.grounding.replies import refused

MUSEUM = {
    "answers": [
        {"question": "When is it open?", "answer": "The museum is open from Wednesday to Sunday."},
        {"question": "Is there a shop?", "answer": "The shop is open from 9:00 to 17:00 and closed on Tuesday."},
    ]
}


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("The shop is closed on Tuesdays.", "The shop is closed on Mondays."),
        ("Der Laden ist dienstags geschlossen.", "Der Laden ist am Montag geschlossen."),
        ("La tienda abre todos los días excepto el martes.", "La tienda abre todos los días excepto el jueves."),
        ("החנות סגורה ביום שלישי.", "החנות סגורה ביום שני."),
        ("It opens Wednesday through Sunday.", "It opens Wednesday through Saturday."),
        ("Le musée est ouvert du mercredi au dimanche.", "Le musée est ouvert du mercredi au vendredi."),
        ("It is closed on Tuesday, but opens again on Wednesday.", "It is closed on Friday, but opens on Wednesday."),
    ],
)
def test_days(right: str, wrong: str) -> None:
    """Whatever the language of the result is."""
    assert refused(right, MUSEUM) == []
    assert refused(wrong, MUSEUM) != []


def test_nothing_is_closed() -> None:
    """Where results close nothing, the reply is not contradicted."""
    assert refused("The bank is closed on Monday.", {"answer": "The museum is open from 9:00 to 17:00."}) == []
