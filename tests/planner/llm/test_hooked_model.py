"""Hooks around a language model see, change and veto its calls."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from tests.planner.llm.scripted import Script, says
from turnloom.models.contracts.turn import Usage
from turnloom.planner.draft.context import PlanningContext
from turnloom.planner.draft.drafting import draft
from turnloom.planner.llm.hooked_model import CallOrigin, ModelCall, with_hooks
from turnloom.planner.llm.openai import OpenAIModel
from turnloom.planner.llm.protocol import Generation, PromptMessage
from turnloom.tools.hooks import Hook, HookRecord, Hooks, Veto

HELLO: list[PromptMessage] = [{"role": "user", "content": "hello"}]
Install = Callable[..., None]


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Install:
    """Return a function that installs hooks for this test: `install(before_model=function, …)`."""

    def install(**functions: Callable[..., Any]) -> None:
        found: dict[str, Any] = {point: (Hook(each.__name__, each),) for point, each in functions.items()}
        for place in ("turnloom.tools.hooks.hooks", "turnloom.planner.llm.hooked_model.hooks"):
            monkeypatch.setattr(place, lambda: Hooks(**found))

    return install


@pytest.fixture
def notes() -> list[HookRecord]:
    """Return the notes of hooks about the calls."""
    return []


def aloud(call: ModelCall) -> ModelCall:
    *before, last = call.messages
    return replace(call, model="loud", messages=(*before, {"role": "user", "content": last["content"].upper()}))


def blunt(_: ModelCall, answer: Generation) -> Generation:
    return replace(answer, text=answer.text.replace("please ", ""))


def test_without_hooks_the_model_is_used_directly(llm: OpenAIModel, install: Install, notes: list[HookRecord]) -> None:
    """If no hook is for language models, there is no wrapper."""
    install(before_tool=print)

    assert with_hooks(llm, notes.append) is llm


@pytest.mark.parametrize("streamed", [False, True])
def test_a_hook_may_change_what_is_asked(
    script: Script, llm: OpenAIModel, install: Install, notes: list[HookRecord], *, streamed: bool
) -> None:
    """The call has the hook's messages and language model. The answer streams as usual."""
    install(before_model=aloud)
    script.behaviours = [says("good day to you")]
    pieces: list[str] = []
    hooked = with_hooks(llm, notes.append)

    answer = (
        hooked.stream(HELLO, pieces.append, purpose="reply") if streamed else hooked.generate(HELLO, purpose="reply")
    )

    assert answer.text == "good day to you"
    assert len(pieces) == (2 if streamed else 0)
    assert script.requests[0]["messages"] == [{"role": "user", "content": "HELLO"}]
    assert script.requests[0]["model"] == "loud"
    assert HELLO[0]["content"] == "hello"


def test_a_hook_knows_for_whom_the_call_is(
    script: Script, llm: OpenAIModel, install: Install, notes: list[HookRecord]
) -> None:
    """It learns the turn, its agent and its user, and cannot change them for the hooks after it."""
    origin = CallOrigin(
        tenant_id=UUID(int=1), conversation_id="c1", turn_id=UUID(int=2), agent="hotel", user={"id": "noa"}
    )
    seen: list[CallOrigin | None] = []
    install(
        before_model=lambda call: replace(call, origin=None),
        after_model=lambda call, _: seen.append(call.origin),
    )
    script.behaviours = [says("good day")]

    with_hooks(llm, notes.append, origin).generate(HELLO, purpose="reply")

    assert seen == [origin]


def test_a_hook_may_change_the_answer(
    script: Script, llm: OpenAIModel, install: Install, notes: list[HookRecord]
) -> None:
    """A stream is passed on in one piece once the hook has seen all of it. Its cost does not change."""
    install(after_model=blunt)
    script.behaviours = [says("please sit down, please do")]
    pieces: list[str] = []

    answer = with_hooks(llm, notes.append).stream(HELLO, pieces.append, purpose="reply")

    assert answer.text == "sit down, do"
    assert pieces == ["sit down, do"]
    assert answer.usage.completion_tokens == 7


def test_what_is_recorded_is_what_the_model_saw_and_wrote(
    script: Script, llm: OpenAIModel, install: Install, notes: list[HookRecord]
) -> None:
    """The prompt after the hooks before it, and the answer before the hooks after it, even if they make a new one."""
    unknown = Usage()
    install(before_model=aloud, after_model=lambda *_: Generation("sit", unknown, "mine", "stop"))
    script.behaviours = [says("please sit down")]

    answer = with_hooks(llm, notes.append).generate(HELLO, purpose="reply")

    assert answer.text == "sit"
    assert answer.sent is not None
    assert list(answer.sent.messages) == [{"role": "user", "content": "HELLO"}]
    assert (answer.sent.answer, answer.sent.parameters["model"]) == ("please sit down", "loud")


def test_a_veto_before_costs_nothing(
    script: Script, llm: OpenAIModel, install: Install, notes: list[HookRecord]
) -> None:
    """A vetoed call is not made. Its answer declines with the reason."""
    install(before_model=lambda call: Veto(f"no {call.purpose} today"))

    answer = with_hooks(llm, notes.append).generate(HELLO, purpose="reply")

    assert (answer.text, answer.finish_reason) == ("no reply today", "refusal")
    assert (answer.usage.llm_calls, answer.usage.cost) == (0, 0.0)
    assert script.requests == []
    assert [(note.kind, note.reason) for note in notes] == [("vetoed", "no reply today")]


def test_a_veto_after_withholds_the_answer(
    script: Script, llm: OpenAIModel, install: Install, notes: list[HookRecord]
) -> None:
    """Nothing of a vetoed answer is passed on, but its cost is counted."""
    install(after_model=lambda *_: Veto("not like that"))
    script.behaviours = [says("something rude")]
    pieces: list[str] = []

    answer = with_hooks(llm, notes.append).stream(HELLO, pieces.append, purpose="reply")

    assert (answer.text, answer.finish_reason, pieces) == ("not like that", "refusal", [])
    assert answer.usage.prompt_tokens == 11


def test_a_broken_hook_is_noted_and_passed_over(
    script: Script, llm: OpenAIModel, install: Install, notes: list[HookRecord]
) -> None:
    """A hook that raises, or returns nonsense, changes nothing."""

    def broken(*_: object) -> None:
        raise RuntimeError("nobody is to read this")

    install(before_model=broken, after_model=lambda *_: "a text")
    script.behaviours = [says("good day")]

    answer = with_hooks(llm, notes.append).generate(HELLO, purpose="reply")

    assert answer.text == "good day"
    assert [(note.point, note.reason) for note in notes] == [
        ("before_model", "RuntimeError"),
        ("after_model", "TypeError"),
    ]


def test_a_vetoed_plan_is_a_reply_with_the_reason(
    script: Script, llm: OpenAIModel, install: Install, notes: list[HookRecord], context: Callable[..., PlanningContext]
) -> None:
    """If a hook vetoes the planning, the reason is the reply. No other call is made, and nothing is run."""
    install(before_model=lambda _: Veto("Bookings are closed until Monday."))

    drafted = draft(context("Weather in Rome?"), with_hooks(llm, notes.append))

    assert drafted.plan is not None
    assert (drafted.plan.reply, drafted.plan.steps) == ("Bookings are closed until Monday.", [])
    assert script.requests == []
