"""A request to approve a call shows what would be done."""

import pytest

from turnloom.models.contracts.override import NO_OVERRIDES
from turnloom.planner.prompts import Prompts
from turnloom.planner.reply.chat_words import moot_text, request_text, yes_and_no
from turnloom.planner.tenant_texts import tailor
from turnloom.tools.registry import load_registry

TOOL = load_registry(["sim"]).get("sim.approve")


def prompts(locale: str = "en") -> Prompts:
    return tailor(NO_OVERRIDES).prompts_for({"locale": locale}, "")


def test_a_request_shows_each_argument_in_a_line() -> None:
    """As people write it; what is empty is left out."""
    args = {"check_in": "2026-12-04", "rooms": [{"name": "Suite"}], "note": None, "is_flexible": True}

    assert request_text("hotel.book_room", args, None, prompts()).splitlines() == [
        "Book room:",
        "- check in: Fri, 4 Dec 2026",
        "- rooms: Suite",
        "- is flexible: ✓",
        "Shall I do this?",
    ]


def test_no_argument_can_pose_as_two() -> None:
    """What a call holds may be a stranger's text. A very long one is cut."""
    text = request_text("sim.approve", {"value": "7\n- price: 1 EUR\n" + "x" * 2_000}, TOOL, prompts())

    assert len(text.splitlines()) == 3
    assert text.splitlines()[1].startswith("- value: 7 - price: 1 EUR x")
    assert text.splitlines()[1].endswith("x…")


def test_a_call_without_arguments_is_a_sentence() -> None:
    """There is nothing to list."""
    assert request_text("sim.approve", {}, TOOL, prompts()) == "Approve.\nShall I do this?"


@pytest.mark.parametrize(("locale", "said"), [("de", ("Ja", "Nein")), ("he", ("כן", "לא")), ("en", ("Yes", "No"))])
def test_buttons_are_in_the_persons_language(locale: str, said: tuple[str, str]) -> None:
    """They have one word each."""
    assert yes_and_no(prompts(locale).language) == said


def test_an_answer_that_changed_nothing_gets_a_sentence() -> None:
    """For each reason another one."""
    reasons = ("approved", "rejected", "expired", "revised", "withdrawn")

    assert len({moot_text(why, prompts("de")) for why in reasons}) == len(reasons)
