"""An answer is bound to a schema in the best form that the endpoint accepts. The scripted endpoint refuses forms."""

import json
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from tests.planner.llm.scripted import Behaviour, Script, calls, fails, says
from turnloom.models.errors import Unavailable
from turnloom.models.runtime.counters import counts
from turnloom.planner.draft.context import PlanningContext
from turnloom.planner.draft.drafting import draft
from turnloom.planner.draft.streamed_plan import WrittenStep
from turnloom.planner.llm.openai import OpenAIModel
from turnloom.planner.llm.protocol import PromptMessage
from turnloom.planner.llm.schema import plan_schema

HELLO: list[PromptMessage] = [{"role": "user", "content": "hello, in JSON"}]
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"city": {"type": "string"}}}
ANSWER = json.dumps({"city": "Kyoto", "steps": ["one", "two"]})

NO_SCHEMA = fails(400, "This model does not support response format `json_schema`.")
NO_TOOLS = fails(400, "registry.example/gemma does not support tools")
NO_JSON = fails(422, "unknown field: response_format")


def _ask(llm: OpenAIModel, model: str | None = None, *, streamed: bool = False) -> str:
    if streamed:
        pieces: list[str] = []
        answer = llm.stream(HELLO, pieces.append, purpose="plan", model=model, schema=SCHEMA)
        assert "".join(pieces) == answer.text
        return answer.text
    return llm.generate(HELLO, purpose="plan", model=model, schema=SCHEMA).text


def _form(request: dict[str, Any]) -> str:
    if "tools" in request:
        return "function"
    return request["response_format"]["type"] if "response_format" in request else "text"


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(
    ("behaviours", "forms"),
    [
        ([says(ANSWER)], ["json_schema"]),
        ([NO_SCHEMA, calls(ANSWER)], ["json_schema", "function"]),
        ([NO_SCHEMA, says(ANSWER)], ["json_schema", "function"]),
        ([NO_SCHEMA, NO_TOOLS, says(ANSWER)], ["json_schema", "function", "json_object"]),
        ([NO_SCHEMA, NO_TOOLS, NO_JSON, says(ANSWER)], ["json_schema", "function", "json_object", "text"]),
        ([NO_SCHEMA, fails(500), calls(ANSWER)], ["json_schema", "function", "function"]),
    ],
    ids=["schema", "function", "function-answered-in-text", "json", "text", "outage-between"],
)
def test_the_best_form_that_is_not_refused_is_asked_for(
    script: Script, llm: OpenAIModel, behaviours: list[Behaviour], forms: list[str], *, streamed: bool
) -> None:
    """After a refusal the next form is tried. The answer is the same, whole or streamed."""
    script.behaviours = list(behaviours)

    text = _ask(llm, streamed=streamed)

    assert text == ANSWER
    assert [_form(request) for request in script.requests] == forms


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "Invalid schema for response_format 'plan'"),
        (400, "failed to parse grammar"),
        (404, "No endpoints found that support structured outputs"),
        (422, "extra fields: response_format"),
        (501, "json_schema is not implemented"),
    ],
)
def test_endpoints_refuse_a_schema_in_many_words(script: Script, llm: OpenAIModel, status: int, message: str) -> None:
    """Whatever status and words a server uses, the next form is tried."""
    script.behaviours = [fails(status, message), calls(ANSWER)]

    assert _ask(llm) == ANSWER


def test_the_function_takes_the_schema_as_its_parameters(script: Script, llm: OpenAIModel) -> None:
    """One function, `plan`, is offered and must be called. It is not strict."""
    script.behaviours = [NO_SCHEMA, calls(ANSWER)]

    _ask(llm)

    (tool,) = script.requests[1]["tools"]
    assert tool == {"type": "function", "function": {"name": "plan", "parameters": SCHEMA}}
    assert script.requests[1]["tool_choice"] == {"type": "function", "function": {"name": "plan"}}
    assert "response_format" not in script.requests[1]


def test_the_form_that_a_model_takes_is_remembered_for_it_alone(script: Script, llm: OpenAIModel) -> None:
    """The second call begins with the form that worked. Another model of the endpoint begins with the best form."""
    script.behaviours = [NO_SCHEMA, NO_TOOLS, *[says(ANSWER)] * 3]

    for model in ("small", "small", "large"):
        _ask(llm, model)

    asked = [(request["model"], _form(request)) for request in script.requests]
    assert asked[2:] == [("small", "json_object"), ("small", "json_object"), ("large", "json_schema")]
    assert llm.supports_structured_output


def test_the_port_tells_what_the_default_model_takes(script: Script, llm: OpenAIModel) -> None:
    """Two properties say which forms the endpoint has not refused."""
    seen = [(llm.supports_structured_output, llm.supports_function_calling)]
    for behaviours in ([NO_SCHEMA, calls(ANSWER)], [NO_TOOLS, says(ANSWER)]):
        script.behaviours = list(behaviours)
        _ask(llm)
        seen.append((llm.supports_structured_output, llm.supports_function_calling))

    assert seen == [(True, True), (False, True), (False, False)]


def test_the_best_form_is_tried_again_after_a_while(
    script: Script, llm: OpenAIModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An upgrade of the endpoint is noticed within ten minutes, without a restart."""
    now = [1000.0]
    monkeypatch.setattr("turnloom.planner.llm.response_formats.time", SimpleNamespace(monotonic=lambda: now[0]))
    script.behaviours = [NO_SCHEMA, *[calls(ANSWER)] * 2, says(ANSWER)]

    for pause_s in (590, 20, 0):
        _ask(llm)
        now[0] += pause_s

    assert [_form(request) for request in script.requests] == ["json_schema", "function", "function", "json_schema"]


def test_a_form_that_led_nowhere_is_not_remembered(script: Script, llm: OpenAIModel) -> None:
    """If every form is refused, the caller gets the reason. The next call begins with the best form again."""
    script.behaviours = [NO_SCHEMA, NO_TOOLS, NO_JSON, fails(400, "no tools, no schema, nothing"), says(ANSWER)]

    with pytest.raises(Unavailable, match="nothing") as caught:
        _ask(llm)

    assert caught.value.code == "llm_rejected"
    assert _ask(llm) == ANSWER
    assert _form(script.requests[-1]) == "json_schema"


TOO_LARGE = [
    "Invalid schema for response_format 'plan': 144 parameters exceed the limit of 100.",
    "The specified schema produces a constraint that has too many states for serving.",
    "output_config.format: compiled grammar is too large",
    "Invalid schema for response_format 'plan': Expected at most 5000 object properties total, got 5089.",
]


@pytest.mark.parametrize("message", TOO_LARGE)
def test_a_schema_that_is_too_large_takes_no_lesser_form(script: Script, llm: OpenAIModel, message: str) -> None:
    """The caller learns it, operators see it counted, and a schema of that size is not sent again. A smaller one is."""
    counts().hand_on(lambda _: None)
    script.behaviours = [fails(400, message), says(ANSWER)]
    large = {**SCHEMA, "description": "large"}
    found: dict[Any, float] = {}

    for _ in range(2):
        with pytest.raises(Unavailable) as caught:
            llm.generate(HELLO, purpose="plan", schema=large)
        assert caught.value.code == "schema_too_large"
    counts().hand_on(found.update)

    assert _ask(llm) == ANSWER
    assert [_form(request) for request in script.requests] == ["json_schema", "json_schema"]
    assert [amount for series, amount in found.items() if "turnloom_llm_schemas_refused_total" in series] == [1]


def test_a_prompt_that_is_too_long_is_no_refusal_of_the_form(script: Script, llm: OpenAIModel) -> None:
    """The endpoint names the schema among the parts of the prompt, but a lesser form would not be shorter."""
    parts = "9000 tokens (5000 in the messages, 4000 in the response_format schemas)"
    message = f"This model's maximum context length is 8192 tokens. However, your request has {parts}."
    script.behaviours = [fails(400, message, "context_length_exceeded")]

    with pytest.raises(Unavailable) as caught:
        _ask(llm)

    assert (caught.value.code, len(script.requests)) == ("llm_rejected", 1)


NEWER = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."


@pytest.mark.parametrize("streamed", [False, True])
def test_the_limit_of_an_answer_has_the_name_that_the_model_takes(
    script: Script, llm: OpenAIModel, *, streamed: bool
) -> None:
    """Newer models refuse `max_tokens`. The other name is remembered for the model."""
    script.behaviours = [fails(400, NEWER, "unsupported_parameter"), *[says(ANSWER)] * 2]

    answers = [_ask(llm, streamed=streamed) for _ in range(2)]

    limits = [name for request in script.requests for name in request if name.startswith("max_")]
    assert (answers, limits) == ([ANSWER] * 2, ["max_tokens", *["max_completion_tokens"] * 2])


def test_a_limit_that_no_name_helps_is_rejected_once(script: Script, llm: OpenAIModel) -> None:
    """A model that refuses both names is not asked for ever. A limit that is too high is no wrong name."""
    script.behaviours = [fails(400, NEWER), fails(400, NEWER.replace("max_tokens", "max_completion_tokens"))]
    script.behaviours += [fails(400, "max_tokens is too large: 100000. This model supports at most 4096 tokens.")]

    for _ in range(2):
        with pytest.raises(Unavailable) as caught:
            _ask(llm)
        assert caught.value.code == "llm_rejected"

    assert len(script.requests) == 3


def test_a_call_without_a_schema_binds_nothing(script: Script, llm: OpenAIModel) -> None:
    """A call for prose has no form. Its rejection does not count against any form."""
    script.behaviours = [says("hello"), fails(400, "response_format is what we dislike")]

    answer = llm.generate(HELLO, purpose="reply")

    assert answer.text == "hello"
    with pytest.raises(Unavailable):
        llm.generate(HELLO, purpose="reply")
    assert [_form(request) for request in script.requests] == ["text", "text"]


def test_arguments_that_end_in_the_middle_are_cut(script: Script, llm: OpenAIModel) -> None:
    """A streamed call that breaks off keeps its text and is marked."""
    script.behaviours = [NO_SCHEMA, calls(ANSWER[:14], finish=None)]

    answer = llm.stream(HELLO, lambda _: None, purpose="plan", schema=SCHEMA)

    assert (answer.text, answer.finish_reason) == (ANSWER[:14], "cut")


def test_arguments_may_come_as_an_object(script: Script, llm: OpenAIModel) -> None:
    """Some compatible servers send the arguments as an object instead of text."""
    script.behaviours = [NO_SCHEMA, says(None, tool_calls=[{"function": {"name": "plan", "arguments": {"a": 1}}}])]

    assert json.loads(_ask(llm)) == {"a": 1}


@pytest.mark.parametrize("mode", ["auto", "react", "adaptive"])
def test_a_prompt_holds_the_form_if_nothing_else_does(
    script: Script, llm: OpenAIModel, context: Callable[..., PlanningContext], mode: str
) -> None:
    """Models that take no schema read fields and arguments of a plan as types. For others the schema has them."""
    asked = context("A trip to Rome", mode=mode)
    plan = json.dumps({"thought": "t", "reply": "Hello.", "steps": []})
    script.behaviours = [NO_SCHEMA, NO_TOOLS, says(plan)]

    draft(asked, llm)

    strict, _, plain = (request["messages"][0]["content"] for request in script.requests)
    schema = plan_schema(asked.offered, None, asked.agent, phased=mode == "adaptive")
    fields = {*schema["properties"], *schema["properties"]["steps"]["items"]["properties"], "reference"}
    assert [name for name in fields if not re.search(rf"\b{name}\b", plain)] == []
    assert '{tool: "travel.lookup_weather", args: ' in plain
    assert ("args: {" in strict, plain.startswith(strict)) == (False, True)


def test_steps_are_passed_on_while_a_function_call_is_written(
    script: Script, llm: OpenAIModel, context: Callable[..., PlanningContext]
) -> None:
    """A plan in the arguments of a function is read while it grows, like any other."""
    weather = {"tool": "travel__lookup_weather", "id": "w", "args": {"city": "Rome", "start": None}, "needs": []}
    script.behaviours = [NO_SCHEMA, calls(json.dumps({"thought": "t", "reply": None, "steps": [weather]}))]
    told: list[WrittenStep] = []

    drafted = draft(context("Weather in Rome?"), llm, on_step=told.append)

    assert drafted.plan is not None
    assert [step.early for step in told] == drafted.plan.steps
    assert drafted.plan.steps[0].tool == "travel.lookup_weather"
