"""Names that nothing given has are found, and hardly any others."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from babel import Locale

from turnloom.models.contracts.step_result import StepResult
from turnloom.planner.languages.language import Language
from turnloom.planner.reply.reply_input import ReplyInput
from turnloom.planner.reply.unknown_names import unknown_names

MakeInput = Callable[..., ReplyInput]

SIGHTS = StepResult(
    id="s",
    tool="travel.search_attractions",
    args={"city": "Rome"},
    status="succeeded",
    result={"city": "Rome", "attractions": [{"name": "Galleria Borghese"}, {"name": "Musée d'Orsay"}]},
)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("You could see the Trattoria Bellucci, near Rome.", ["Trattoria", "Bellucci"]),
        ("The Galleria Borghese is in Rome. Galleries are closed on Monday.", []),
        ("In Rome you find the musee, the Gallerie and the Borgheses.", []),
        ("Rome is in Italy, where Italian is spoken and the Euro is money, until January.", []),
        ("The WIFI and the USB socket work. Thanks!\n- Breakfast\n- Parking", []),
        ("Ask for Dana, Dana or Dana.", ["Dana"]),
        ("בקשו את דנה ברומא. 日本語の名前。", []),
    ],
    ids=["invented", "known", "inflected", "common", "capitals", "once", "no-capitals"],
)
def test_names(reply_input: MakeInput, text: str, names: list[str]) -> None:
    """A word with a capital letter inside a sentence is a name, unless it is in the results or known to everybody."""
    assert unknown_names(reply_input(SIGHTS), text) == names


@pytest.mark.parametrize(
    "more",
    [
        {"message": "Is Bellucci open?"},
        {"person": {"id": "Bellucci"}},
        {"slots": {"place": "Bellucci"}},
    ],
    ids=lambda more: next(iter(more)),
)
def test_what_the_user_said_is_known(reply_input: MakeInput, more: dict[str, Any]) -> None:
    """The reply may take a name from the message, and from what is known of the user and the conversation."""
    assert unknown_names(reply_input(SIGHTS, **more), "I do not know whether Bellucci is open.") == []


def test_german_nouns_are_no_names(reply_input: MakeInput) -> None:
    """A language that begins every noun with a capital letter would make a name of each."""
    given = reply_input(SIGHTS)
    german = replace(given, prompts=given.prompts.spoken(Language(Locale("de"))))

    assert unknown_names(german, "Dort gibt es die Galleria Borghese und einen schönen Garten.") == []
