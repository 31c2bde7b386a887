"""A request has the parameters of its purpose, without those that its endpoint refuses."""

from typing import cast

from tests.planner.llm.scripted import Script, fails, says
from turnloom.models.runtime.settings import Settings
from turnloom.planner.llm.openai import OpenAIModel, connect
from turnloom.planner.llm.protocol import PromptMessage, Purpose

HELLO: list[PromptMessage] = [{"role": "user", "content": "hello"}]
ANSWER = "Hello."


def test_a_call_has_the_temperature_of_its_purpose(script: Script) -> None:
    """Temperature and seed are settings by purpose. Without one, nothing is sent."""
    model = connect(Settings(openai_base_url=script.url, llm_temperature={"plan": 0.2}, llm_seed={"plan": 7}))
    script.behaviours = [says(ANSWER), says(ANSWER)]

    for purpose in ("plan", "reply"):
        model.generate(HELLO, purpose=cast("Purpose", purpose))

    assert [(request.get("temperature"), request.get("seed")) for request in script.requests] == [
        (0.2, 7),
        (None, None),
    ]


def test_a_model_that_chooses_its_temperature_is_left_to(script: Script, llm: OpenAIModel) -> None:
    """Reasoning models refuse a temperature. They are asked again without it, and not with it any more."""
    refused = "Unsupported value: 'temperature' does not support 0.1 with this model."
    script.behaviours = [fails(400, refused), *[says(ANSWER)] * 2]

    answers = [llm.generate(HELLO, purpose="plan").text for _ in range(2)]

    sent = ["temperature" in request for request in script.requests]
    assert (answers, sent) == ([ANSWER] * 2, [True, False, False])
