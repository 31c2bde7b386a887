"""A person takes a conversation over, on a channel and at the API, and hands it back."""

import httpx2
import pytest

from tests.facts import wait_for
from tests.journeys.following import finished, kinds, post, wait_step
from tests.journeys.takeover import say, take_over
from tests.journeys.telegram_bot import ACCOUNT, TelegramBot

pytestmark = pytest.mark.timeout(120)  # the first test may also have to start the stack


def test_a_person_writes_on_a_channel(bot: TelegramBot, api: httpx2.Client) -> None:
    """The user gets what the person writes and nothing of the agent, until it is resumed."""
    person = bot.new_person()
    conversation = f"telegram:{ACCOUNT}:{person}"
    bot.post(bot.update(person, "hello"))
    wait_for(lambda: bot.is_settled(person, 1))
    (greeting,) = bot.texts(person)

    take_over(api, conversation)
    bot.post(bot.update(person, "are you there?"))
    wait_for(lambda: bot.is_settled(person, 2))
    said = say(api, conversation, "Yes, this is Dana.")
    wait_for(lambda: bot.is_settled(person, 3))
    take_over(api, conversation, "resume")
    bot.post(bot.update(person, "thank you"))
    wait_for(lambda: bot.is_settled(person, 4))

    turns = bot.turns(person)
    assert [turn["status"] for turn in turns] == ["succeeded", "cancelled", "succeeded", "succeeded"]
    assert [[part["status"] for part in turn["deliveries"]] for turn in turns] == [
        ["sent"],
        ["withheld"],
        ["sent"],
        ["sent"],
    ]
    assert (turns[1]["error"]["code"], turns[2]["turn_id"], turns[2]["author"]) == ("paused", said, "Dana")
    assert bot.texts(person) == [greeting, "Yes, this is Dana.", turns[3]["reply"]["text"]]


def test_a_turn_in_work_is_not_answered(api: httpx2.Client) -> None:
    """It ends at once. A write under way is recorded, and its word for the user is kept with the turn."""
    write = {"id": "w", "tool": "sim.write", "args": {"value": "kept", "ms": 1_500}}
    more = {"conversation_id": "taken-over", "agent": "generic"}
    turn_id = post(api, plan={"steps": [write, wait_step("after", "w")]}, **more)["turn_id"]
    wait_for(lambda: "running" in {step["status"] for step in api.get(f"/v1/turns/{turn_id}").json()["steps"]})

    assert take_over(api, "taken-over")["paused_at"]

    turn = finished(api, turn_id, within_s=5)
    assert (turn["status"], turn["error"]["code"]) == ("cancelled", "paused")
    assert "may still take effect" in turn["reply"]["text"]
    assert "reply.done" not in kinds(api, turn_id)
    wait_for(lambda: api.get(f"/v1/turns/{turn_id}").json()["steps"][0]["status"] == "succeeded")


def test_a_call_that_waits_for_approval_is_not_made(api: httpx2.Client) -> None:
    """Nobody can approve it any more."""
    plan = {"steps": [{"id": "w", "tool": "sim.approve", "args": {"value": 7}}]}
    turn_id = post(api, plan=plan, agent="generic", conversation_id="asked-and-taken-over")["turn_id"]
    wait_for(lambda: api.get(f"/v1/turns/{turn_id}").json()["status"] == "waiting_approval")

    take_over(api, "asked-and-taken-over")

    turn = finished(api, turn_id, within_s=5)
    assert (turn["status"], turn["steps"][0]["status"]) == ("cancelled", "cancelled")
    late = api.post(f"/v1/turns/{turn_id}/approvals/w", json={"decision": "approve"})
    assert (late.status_code, late.json()["code"]) == (409, "not_waiting")


def test_a_caller_that_waits_gets_the_end(api: httpx2.Client) -> None:
    """The answer of a paused conversation is a final turn with a word fit for the user, in their language."""
    finished(api, post(api, conversation_id="waiting-caller")["turn_id"])
    take_over(api, "waiting-caller")
    request = {"message": "Ist da jemand?", "conversation_id": "waiting-caller", "user": {"locale": "de-DE"}}

    answer = api.post("/v1/turns?wait=20", json=request)

    assert answer.status_code == 200
    assert (answer.json()["status"], answer.json()["usage"]["llm_calls"]) == ("cancelled", 0)
    assert "Team" in answer.json()["reply"]["text"]


def test_an_openai_client_gets_a_word(api: httpx2.Client) -> None:
    """A client that must have an answer gets one: a person has taken over."""
    finished(api, post(api, conversation_id="taken-from-openai", agent="generic")["turn_id"])
    take_over(api, "taken-from-openai")
    request = {
        "model": "generic",
        "messages": [{"role": "user", "content": "hello"}],
        "metadata": {"conversation_id": "taken-from-openai"},
    }

    whole = api.post("/v1/chat/completions", json=request)
    streamed = api.post("/v1/chat/completions", json=request | {"stream": True})

    assert whole.status_code == 200, whole.text
    assert "has taken over" in whole.json()["choices"][0]["message"]["content"]
    assert "has taken over" in streamed.text
