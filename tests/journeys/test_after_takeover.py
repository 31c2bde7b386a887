"""What a person said is known to the agent that goes on."""

import json

import httpx2

from tests.journeys.following import events_of, finished, post
from tests.journeys.speaking import Speaker, says, written
from tests.journeys.takeover import say, take_over
from tests.planner.llm.scripted import Script


def test_what_was_said_is_known_after_it(asking: httpx2.Client, script: Script, model: Speaker) -> None:
    """The planner gets the user's messages, and the person's as the person's. What the agent kept back it does not."""
    conversation = "known-after-a-takeover"
    finished(asking, post(asking, says(written(reply="Hello.")), conversation_id=conversation)["turn_id"])
    take_over(asking, conversation)
    unanswered = finished(asking, post(asking, "my towel is wet", conversation_id=conversation)["turn_id"])
    said = say(asking, conversation, "A new towel is on its way.")
    take_over(asking, conversation, "resume")
    asked = len(script.requests)

    last = finished(asking, post(asking, says(written(reply="Gladly.")), conversation_id=conversation)["turn_id"])

    assert last["reply"]["text"] == "Gladly."
    assert [kind for kind, _ in events_of(asking, said)] == ["turn.queued", "reply.done", "turn.succeeded"]
    prompt = script.requests[asked]["messages"]
    *_, before, person, message = prompt
    assert (before["role"], person["role"], message["role"]) == ("user", "assistant", "user")
    assert json.dumps("my towel is wet") in before["content"]
    assert person["content"] == "[Not you but a person of the team wrote this, Dana:] A new towel is on its way."
    assert not any(unanswered["reply"]["text"] in each["content"] for each in prompt)
