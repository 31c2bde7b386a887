"""What a language model writes for programs reaches no user."""

from collections.abc import Callable

import pytest

from tests.planner.llm.scripted import Script, says
from turnloom.models.contracts.step_result import StepResult
from turnloom.planner.llm.openai import OpenAIModel
from turnloom.planner.reply.raw_text import is_raw
from turnloom.planner.reply.reply_input import ReplyInput
from turnloom.planner.reply.responder import compose

RAW = [
    '{"text": "I found a room."}',
    '```json\n{"answer": "yes"}\n```',
    "{{ results[0].price_total }} ${rooms.options[0].price_total}",
    "I called travel.lookup_weather for you.",
    "You lack calendar.events.propose for this.",
    "<think>never closed",
]
NAMES = {"travel.lookup_weather", "calendar.events.propose"}
HOTELS = StepResult(
    id="a", tool="travel.search_hotels", args={"city": "Rome"}, status="succeeded", result={"results": []}
)


@pytest.mark.parametrize("text", RAW)
def test_json_placeholders_thoughts_and_internal_names_are_raw(text: str) -> None:
    assert is_raw(text, NAMES)


@pytest.mark.parametrize(
    "text",
    [
        "I found [1] room.",
        "See https://www.example.com/a.b?c={d}",
        "e.g. a room (from 15.00)",
        "{braces} are fine.",
    ],
)
def test_what_people_write_is_not(text: str) -> None:
    assert not is_raw(text, NAMES)


@pytest.mark.parametrize("text", RAW)
def test_a_template_says_the_results_where_the_model_writes_raw_text(
    script: Script, llm: OpenAIModel, reply_input: Callable[..., ReplyInput], text: str
) -> None:
    """The same as if it had written nothing."""
    script.behaviours = [says(text)]

    composed = compose(reply_input(HOTELS), llm)

    assert composed.written_by.startswith("template:responding/places_to_stay")


@pytest.mark.parametrize("text", RAW)
def test_a_planners_own_raw_answer_is_not_sent(
    script: Script, llm: OpenAIModel, reply_input: Callable[..., ReplyInput], text: str
) -> None:
    """A reply is asked for in its place."""
    script.behaviours = [says("You are welcome.")]

    assert compose(reply_input(reply=text), llm).reply.text == "You are welcome."
