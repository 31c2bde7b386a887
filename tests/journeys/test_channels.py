"""A person writes on a channel and gets the reply there."""

import pytest

from tests.facts import wait_for
from tests.journeys.telegram_bot import ACCOUNT, TelegramBot, channel_commands
from turnloom.workers.embedded.stack import Stack

pytestmark = pytest.mark.timeout(120)  # the first test may also have to start the stack


def test_a_message_is_answered_on_its_channel(bot: TelegramBot) -> None:
    """The turn shows the channel, the account and how far its reply has come. Its text is what the person got."""
    person = bot.new_person()
    assert bot.post(bot.update(person, "hello")) == 200

    wait_for(lambda: bot.is_settled(person, 1))
    (turn,) = bot.turns(person)
    assert (turn["channel"], turn["account"], turn["status"]) == ("telegram", ACCOUNT, "succeeded")
    assert [(part["part"], part["status"], part["attempts"]) for part in turn["deliveries"]] == [(1, "sent", 1)]
    assert turn["deliveries"][0]["provider_id"].startswith(f"{person}/")
    assert bot.texts(person) == [turn["reply"]["text"]]


def test_a_message_that_comes_again_is_answered_once(bot: TelegramBot) -> None:
    """However often the provider posts it."""
    person = bot.new_person()
    update = bot.update(person, "hello")
    assert [bot.post(update) for _ in range(3)] == [200] * 3

    wait_for(lambda: bot.is_settled(person, 1))
    assert bot.post(update) == 200
    assert len(bot.texts(person)) == 1


def test_a_forged_message_is_refused(bot: TelegramBot) -> None:
    """Nothing of it is recorded."""
    person = bot.new_person()

    assert bot.post(bot.update(person, "hello"), token="guessed") == 401
    assert bot.turns(person) == []


def test_a_provider_that_is_down_gets_the_reply_later(bot: TelegramBot) -> None:
    """The reply is pending meanwhile, and says why."""
    person = bot.new_person()
    bot.is_up.clear()
    bot.post(bot.update(person, "hello"))
    wait_for(lambda: [part["error"] for turn in bot.turns(person) for part in turn["deliveries"] if part["error"]])
    assert bot.turns(person)[0]["deliveries"][0]["status"] == "pending"

    bot.is_up.set()
    wait_for(lambda: bot.is_settled(person, 1))
    assert len(bot.texts(person)) == 1


def test_what_is_not_answered_is_listed(bot: TelegramBot, stack: Stack) -> None:
    """With the request as it came."""
    assert bot.post({"update_id": bot.new_person(), "poll": {"id": "p-listed"}}) == 200

    assert "p-listed" in channel_commands(stack)("kept", "--bodies")


def test_secrets_of_an_account_are_not_shown(bot: TelegramBot, stack: Stack) -> None:
    """By none of the commands; one asks the provider whether the account works."""
    run = channel_commands(stack)

    shown = run("show", "telegram", ACCOUNT) + run("list")
    checked = run("check", "telegram", ACCOUNT)

    assert "bot_token" in shown
    assert "1:bot" not in shown
    assert "works" in checked
