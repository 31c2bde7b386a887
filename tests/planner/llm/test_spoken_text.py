"""The thoughts that a reasoning model writes are left out of its answer, whole or streamed."""

import json
from collections.abc import Callable

import pytest

from tests.planner.llm.scripted import Script, says
from turnloom.planner.draft.context import PlanningContext
from turnloom.planner.draft.drafting import draft
from turnloom.planner.draft.streamed_plan import WrittenStep
from turnloom.planner.llm.openai import OpenAIModel
from turnloom.planner.llm.protocol import PromptMessage
from turnloom.planner.llm.spoken_text import SpokenText

HELLO: list[PromptMessage] = [{"role": "user", "content": "hello"}]


@pytest.mark.parametrize("pieces", [1, 3, 7, 10_000])
@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("Hello", "Hello"),
        ("<think>Hm {x} < y</think>\n\nHello", "Hello"),
        ("<THINKING>a</thinking>Hello <think>b</think>you", "Hello you"),
        ("[THINK]a [/b][/THINK]Hello", "Hello"),
        ("<think>never ended", ""),
        ("<think></think>", ""),
        ("1 < 2 and [1] <b>", "1 < 2 and [1] <b>"),
        ("Write <think> first.", "Write <think> first."),
        ("ends with <thin", "ends with <thin"),
        ("The mark </think> ends it.", "The mark </think> ends it."),
        ("Let me see.\n</think>\n\nHello", "Hello"),
        ("Let me see. </think>\nHello", "Hello"),
    ],
)
def test_thoughts_are_left_out(text: str, spoken: str, pieces: int) -> None:
    """However the text is cut, only the thoughts are missing. A mark that the text merely mentions stays."""
    answer = SpokenText()
    passed = "".join(answer.add(text[start : start + pieces]) for start in range(0, len(text), pieces))
    passed += answer.finish()

    is_unopened = answer.drop_unopened()

    assert str(answer) == spoken
    assert is_unopened or passed == spoken


def test_a_plan_after_a_thought_is_one_call(
    script: Script, llm: OpenAIModel, context: Callable[..., PlanningContext]
) -> None:
    """Braces in the thought are no plan, and the steps are passed on while they are written."""
    step = {"tool": "travel.lookup_weather", "id": "w", "args": {"city": "Rome"}}
    thought = f"<think>Maybe {{this}} or {json.dumps({'steps': [step, step]})}.</think>"
    script.behaviours = [says(f"{thought}\nHere it is: {json.dumps({'steps': [step]})} I hope that it helps.")]
    told: list[WrittenStep] = []

    drafted = draft(context("Weather in Rome?"), llm, on_step=told.append)

    assert drafted.plan is not None
    assert [one.early for one in told] == drafted.plan.steps
    assert "think" not in drafted.text


@pytest.mark.parametrize("mode", ["direct", "auto"])
def test_no_user_sees_a_thought(
    script: Script, llm: OpenAIModel, context: Callable[..., PlanningContext], mode: str
) -> None:
    """A direct reply has none, nor have its sentences while they are written."""
    text = "Hello. Rome it is."
    script.behaviours = [says(f"<think>They greet. I greet.</think>\n\n{text}" if mode == "direct" else _plan(text))]
    heard: list[str] = []

    drafted = draft(context("Hi", mode=mode), llm, on_delta=heard.append)

    assert drafted.plan is not None
    assert drafted.plan.reply == text
    assert "".join(heard) in ("", text)


def _plan(reply: str) -> str:
    return f"<think>They greet.</think>{json.dumps({'reply': reply, 'steps': []})}"


def test_a_model_that_only_ends_its_thoughts_is_remembered(script: Script, llm: OpenAIModel) -> None:
    """The next answer is held back until its thought ends, so that a stream shows none of it."""
    script.behaviours = [says("I see.\n</think>\n\nHello")] * 2 + [says("Hello")]

    heard: list[list[str]] = [[], [], []]
    texts = [llm.stream(HELLO, pieces.append, purpose="reply").text for pieces in heard]

    assert texts == ["Hello"] * 3
    assert ["".join(pieces) for pieces in heard[1:]] == ["Hello"] * 2


def test_nothing_but_a_thought_is_an_empty_answer(script: Script, llm: OpenAIModel) -> None:
    """The caller learns that the answer is empty."""
    script.behaviours = [says("<think>Hm.", finish="length")]

    assert llm.generate(HELLO, purpose="reply").finish_reason == "empty"
