"""What is said to be done, or not done yet, is what the calls of the turn have done."""

import pytest

from tests.planner.reply.grounding.replies import refused

MEETING = {"title": "Budget with Priya", "start": "2026-11-24T13:00:00+00:00"}
CONFIRMED = frozenset({"confirmed", "scheduled", "sent", "notified"})
HELD = frozenset({"held"})
PROPOSED = frozenset({"proposed"})


@pytest.mark.parametrize(
    "wrong",
    [
        "The meeting isn't confirmed yet.",
        "Nothing is confirmed so far.",
        "Das Treffen ist noch nicht bestätigt.",
        "La reunión todavía no está confirmada.",
        "Le rendez-vous n'est pas encore confirmé.",
        "L'incontro non è ancora confermato.",
        "הפגישה עדיין לא מאושרת.",
        "会議はまだ確定していません。",
    ],
)
def test_what_is_confirmed_is_not_called_open(wrong: str) -> None:
    """It is right where nothing was confirmed."""
    assert refused(wrong, MEETING, deeds=CONFIRMED) != []
    assert refused(wrong, MEETING, deeds=PROPOSED) == []


def test_of_two_meetings_one_may_be_open() -> None:
    """A sentence that says both tells them apart."""
    assert refused("The one with Priya is confirmed; that with Ana is not confirmed.", MEETING, deeds=CONFIRMED) == []


@pytest.mark.parametrize(
    "reply",
    [
        "I've put the room on hold for you.",
        "I have made your booking link.",
        "Ich habe das Zimmer für Sie vorgemerkt.",
        "I've put you down as two adults.",
        "It's done!",
    ],
)
def test_what_a_call_did_may_be_said_in_other_words(reply: str) -> None:
    """Words such as "link" and "hold" may name any of its deeds."""
    assert refused(reply, {"room": "Garden"}, deeds=HELD) == []


@pytest.mark.parametrize(
    ("reply", "deeds"),
    [
        ("I've put the slot in both your calendars.", PROPOSED),
        ("I've locked in Tuesday with Priya.", PROPOSED),
        ("I've also moved your other appointments.", CONFIRMED),
        ("I have sent her the plan.", CONFIRMED),
        ("I've already settled the bill.", HELD),
        ("I have let the kitchen know.", HELD),
        ("Já confirmei o horário.", PROPOSED),
        ("Ik heb het eerste moment voor je vastgelegd.", PROPOSED),
        ("ご予約をお取りいたしました。", HELD),
        ("Je vous y ai réservé une place.", HELD),
    ],
)
def test_what_no_call_did_is_not_said(reply: str, deeds: frozenset[str]) -> None:
    """A tool that declares its deeds has done no others."""
    assert refused(reply, MEETING, deeds=deeds) != []


def test_a_tool_that_declares_nothing_may_have_done_it() -> None:
    """As those of other makers."""
    assert refused("I have let the kitchen know.", {"status": "ok"}) == []
