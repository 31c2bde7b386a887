"""A person is asked in chat before a call is made, and their answer decides it."""

from typing import Any

import pytest

from tests.facts import wait_for
from tests.journeys.telegram_bot import TelegramBot
from tests.journeys.whatsapp_number import WhatsAppNumber
from turnloom.models.contracts.turn import FINAL_TURN_STATUSES

pytestmark = pytest.mark.timeout(120)  # the first test may also have to start the stack


def is_over(channel: Any, person: Any) -> bool:
    """Whether a person's only turn is final and everything of it has been sent."""
    turns = channel.turns(person)
    parts = [part["status"] for turn in turns for part in turn["deliveries"]]
    is_final = len(turns) == 1 and turns[0]["status"] in FINAL_TURN_STATUSES
    return is_final and len(parts) > 1 and set(parts) == {"sent"}


def test_a_tapped_button_on_telegram_approves_a_call(bot: TelegramBot) -> None:
    """It is shown what would be done; then the call is made and the reply comes. A second tap changes nothing."""
    person = bot.new_person()
    bot.post(bot.update(person, "write seven, but ask me first"))
    wait_for(lambda: bot.texts(person), within_s=30)
    assert bot.texts(person) == ["Approve:\n- value: seven\nShall I do this?"]

    tap = bot.tap(person, 0)
    assert [bot.post(tap) for _ in range(2)] == [200, 200]
    wait_for(lambda: is_over(bot, person))
    (turn,) = bot.turns(person)
    assert [(step["tool"], step["status"], step["attempt"]) for step in turn["steps"]] == [
        ("sim.approve", "succeeded", 2)
    ]
    assert turn["steps"][0]["approval"]["by"] == "person"
    assert bot.texts(person)[1:] == [turn["reply"]["text"]]

    bot.post(bot.tap(person, 1))
    wait_for(lambda: len(bot.texts(person)) == 3)
    assert bot.texts(person)[2] == "This was approved already, so your answer changed nothing."


def test_a_typed_no_on_whatsapp_rejects_a_call(number: WhatsAppNumber) -> None:
    """It is not made, and the reply says so."""
    person = number.new_person()
    number.write(person, "write eight, but ask me first")
    wait_for(lambda: number.texts(person), within_s=30)

    assert number.write(person, "No, thanks.") == 200
    wait_for(lambda: is_over(number, person))
    (turn,) = number.turns(person)
    assert (turn["steps"][0]["status"], turn["steps"][0]["error"]["code"]) == ("failed", "REJECTED")
    assert number.texts(person)[1:] == [turn["reply"]["text"]]


def test_a_tapped_button_on_whatsapp_approves_a_call(number: WhatsAppNumber) -> None:
    """Once, though Meta posts it three times."""
    person = number.new_person()
    number.write(person, "write nine, but ask me first")
    wait_for(lambda: number.texts(person))

    assert number.tap(person, 0, times=3) == [200] * 3
    wait_for(lambda: is_over(number, person))
    (turn,) = number.turns(person)
    assert turn["steps"][0]["status"] == "succeeded"
    assert len(number.texts(person)) == 2


def test_anything_else_takes_the_place_of_the_request(number: WhatsAppNumber) -> None:
    """It is answered like any message, and the old button then does nothing."""
    person = number.new_person()
    number.write(person, "write ten, but ask me first")
    wait_for(lambda: number.texts(person))

    number.write(person, "echo something else")
    wait_for(lambda: len(number.texts(person)) == 2)
    number.tap(person, 0)
    wait_for(lambda: len(number.texts(person)) == 3)
    assert number.texts(person)[2].startswith("This is no longer open, so your answer changed nothing.")
    assert [turn["status"] for turn in number.turns(person)].count("superseded") == 1
