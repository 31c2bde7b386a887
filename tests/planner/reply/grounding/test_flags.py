"""A clause may not contradict a field that is true or false, in the words of its name."""

import pytest

from tests.planner.reply.grounding.replies import refused

BILL = {"autopay": False, "card": {"name": "Visa", "blocked": False}, "installments": {"allowed": True}}


@pytest.mark.parametrize(
    "reply", ["Autopay is off.", "The card is not blocked.", "Installments are allowed.", "It ran."]
)
def test_what_a_flag_says_may_be_said(reply: str) -> None:
    """A word such as "off" denies."""
    assert refused(reply, BILL) == []


@pytest.mark.parametrize("reply", ["Autopay is on.", "The card is blocked.", "Installments are not allowed."])
def test_the_opposite_may_not(reply: str) -> None:
    """A usual name of a flag, such as `allowed`, counts beside the name of the field around it."""
    assert refused(reply, BILL)


def test_what_the_name_of_a_flag_denies_is_not_denied_of_it() -> None:
    """What may be done without something may be done."""
    rules = {"foto_senza_flash": True, "photos_without_flash": True}

    assert refused("Le foto senza flash sono permesse. Photos without flash are allowed.", rules) == []
    assert refused("Le foto senza flash non sono permesse.", rules) == ["foto"]
    assert refused("Photos without flash aren't allowed.", rules) == ["Photos"]


def test_a_condition_states_nothing() -> None:
    """What holds in some cases is no contradiction."""
    assert refused("If the card is blocked, call us.", BILL) == []


@pytest.mark.parametrize(
    ("reply", "wrong"),
    [
        ("- Insurance: No", []),
        ("- **Insurance:** Yes", ["Insurance"]),
        ("- Pets allowed: no", []),
        ("- Pets allowed: yes", ["allowed"]),
        ("- pets allowed: \u2717", []),
        ("- Pets allowed: \u2705", ["allowed"]),
        ("Travel insurance covers illness.", []),
    ],
)
def test_an_answer_behind_a_colon_belongs_to_the_name_before_it(reply: str, wrong: list[str]) -> None:
    """A text such as "no" is compared with such an answer only: its name alone may mean something else."""
    assert refused(reply, {"insurance": "no", "pets_allowed": False}) == wrong


def test_another_denial_does_not_turn_the_first_into_its_opposite() -> None:
    """It stands behind "and"."""
    boats = {"options": [{"name": "Yabby Queen", "cancellable": False}, {"name": "Spoonbill", "cancellable": True}]}

    assert refused("The Yabby Queen is not cancellable and Biscuit couldn't come aboard.", boats) == []
    assert refused("The Spoonbill is not cancellable and Biscuit couldn't come aboard.", boats) != []


def test_what_the_user_wants_differently_is_no_contradiction() -> None:
    """A reply may sum up a booking that is still to be made."""
    assert refused("- Insurance: Yes", {"insurance": "no"}, said="This time with insurance, please.") == []
