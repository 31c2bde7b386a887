"""The part of the prompt for a long conversation does not grow with it."""

from collections.abc import Callable

import pytest

from tests.planner.llm.scripted import Script, says
from turnloom.models.contracts.memory import Exchange, RecalledResult
from turnloom.planner.draft.context import PlanningContext
from turnloom.planner.draft.drafting import planning_messages
from turnloom.planner.draft.packing import cut, older, summary_tokens, tokens, wants_summary
from turnloom.planner.llm.openai import OpenAIModel
from turnloom.planner.memory.summary import summed_up
from turnloom.planner.prompts import shipped

Context = Callable[..., PlanningContext]
_READ = 24


def _sizes(context: Context, llm: OpenAIModel, measured: set[int], words: int) -> dict[int, int]:
    """Hold a conversation. Return the prompt's size in tokens for these of its turns."""
    sizes = {}
    summary, history = None, []
    agent = context("hello").agent
    for number in range(max(measured) + 1):
        message = f"What about number {number:03}?"
        memory = [
            RecalledResult(tool="a.look", args={"n": age}, result=["word"] * 40, turn="t", step="s", age_s=age)
            for age in range(min(number, 20))
        ]
        told = {"summary": summary, "history": history[-_READ:], "memory": memory}
        if number in measured:
            messages, _ = planning_messages(context(message, **told))
            sizes[number] = sum(tokens(each["content"]) for each in messages)
        if wants_summary(history, agent):
            past = older(history, agent)
            summary = summed_up(summary, past, agent, shipped(), llm)
            history = history[len(past) :]
        history.append(Exchange(message, "word " * words))
    return sizes


@pytest.mark.parametrize("words", [10, 150, 1_000], ids=["short", "usual", "long"])
def test_the_prompt_of_turn_200_is_no_longer_than_that_of_turn_30(
    context: Context, offline: OpenAIModel, words: int
) -> None:
    """The longest of neighbouring turns are compared, because a summary is made only now and then."""
    early, late = range(10, 30), range(180, 200)

    sizes = _sizes(context, offline, {*early, *late}, words)

    assert max(sizes[turn] for turn in late) <= 1.1 * max(sizes[turn] for turn in early)


def test_without_a_language_model_the_prompt_stays_within_its_budget(context: Context, offline: OpenAIModel) -> None:
    """The oldest messages are left out."""
    nothing = context("hello")
    history = [Exchange("hello", "word " * 300)] * _READ

    bare, full = (
        sum(tokens(each["content"]) for each in planning_messages(told)[0])
        for told in (nothing, context("hello", history=history))
    )

    assert full - bare <= nothing.agent.context_tokens * 1.1  # plus the tags around each message


def test_the_offline_model_keeps_the_first_and_the_last(offline: OpenAIModel, context: Context) -> None:
    """The same messages give the same summary, however often they are summed up."""
    agent, prompts = context("hello").agent, shipped()
    first = summed_up(
        None, [Exchange("Hotels in Rome", "Found 3."), Exchange("in May", "Fine.")], agent, prompts, offline
    )
    again = summed_up(first, [Exchange("for 2", "Done.")], agent, prompts, offline)

    assert first == "It began with: Hotels in Rome Since then: in May It was answered: Fine."
    assert again == "It began with: Hotels in Rome Since then: for 2 It was answered: Done."


def test_a_summary_has_its_length(script: Script, llm: OpenAIModel, context: Context) -> None:
    """It is cut to its length however much the model writes. The model gets no more text than it needs."""
    agent = context("hello").agent
    script.behaviours = [says("word " * 4_000)]

    summary = summed_up(None, [Exchange("x" * 8_000, "y" * 80_000)], agent, shipped(), llm)

    assert summary is not None
    assert tokens(summary) <= summary_tokens(agent)
    assert cut(summary, summary_tokens(agent)) == summary
    assert len(script.requests[0]["messages"][0]["content"]) < 6_000
