"""Whatever was found and whatever the plan hinted at, the reply is fit for people."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain, combinations, cycle
from random import Random
from typing import Any

import pytest

from tests.planner.languages.test_completeness import SPOKEN, spoken
from tests.planner.reply.sample_results import sample_result
from turnloom.models.contracts.step_result import StepResult
from turnloom.models.errors import Unavailable
from turnloom.models.runtime.settings import ROOT
from turnloom.planner.agents import load_agents
from turnloom.planner.llm.protocol import Generation
from turnloom.planner.prompts import shipped
from turnloom.planner.reply.reply_input import ReplyInput
from turnloom.planner.reply.responder import compose
from turnloom.tools.registry import Registry, load_registry

AGENTS = load_agents(ROOT / "prompts" / "agents")
UNFIT = re.compile(r"[{}]|\[[\"\[]|\b(?:None|True|False|null|undefined|Undefined)\b|\w_\w")
"""JSON, Python, placeholders and names of fields."""
CONTRADICTING = "generic"
"""The agent with all tools. Their samples contradict each other: one cancels what another says cannot be."""
_MOST_SUBSETS = 12


class _Silent:
    """A language model that never answers."""

    def stream(self, *_args: Any, **_more: Any) -> Generation:
        raise Unavailable("it is down", code="llm_unreachable", passes=True)

    generate = stream


@pytest.fixture(scope="module")
def all_tools() -> Registry:
    return load_registry(["dates", "hotel", "meetings", "notifications", "research", "sim", "travel"])


@pytest.mark.parametrize("name", AGENTS.profiles)
def test_every_reply_is_fit_for_people(name: str, all_tools: Registry, reply_input: Callable[..., ReplyInput]) -> None:
    """It is not empty, and holds no JSON and no placeholder, for any subset of results and any hint of the agent.

    Of the sentences of our own templates the check refuses none, in whichever language.
    """
    agent, silent, seen = AGENTS.get(name), _Silent(), []
    languages = cycle(map(spoken, ["en", *SPOKEN]))
    tools = all_tools.allowed(agent.tools)
    for number, subset in enumerate(_subsets(sorted(tools.tools))):
        steps = [_step(tools, tool, tool in subset, is_full=bool(number % 2)) for tool in tools.tools]
        asked = [step for step in steps if step.status == "succeeded" or number % 3 == 0]
        for hint in (None, "no_such_hint", *agent.hints):
            prompts = shipped().spoken(next(languages))
            given = replace(reply_input(*asked, agent=name, synthesis_hint=hint), tools=all_tools, prompts=prompts)
            seen.append((hint, subset, compose(given, silent)))

    unfit = [case for case in seen if not case[2].reply.text.strip() or UNFIT.search(case[2].reply.text)]
    assert unfit[:2] == []
    refused = [case for case in seen if case[2].refused and name != CONTRADICTING]
    assert refused[:2] == []


def _subsets(tools: list[str]) -> Iterator[tuple[str, ...]]:
    """Yield all subsets, or some of each size if there are too many."""
    if 2 ** len(tools) <= _MOST_SUBSETS:
        yield from chain.from_iterable(combinations(tools, size) for size in range(len(tools) + 1))
        return
    random = Random(7)
    for number in range(_MOST_SUBSETS):
        yield tuple(random.sample(tools, number % (len(tools) + 1)))


def _step(tools: Registry, tool: str, has_succeeded: bool, *, is_full: bool) -> StepResult:
    if not has_succeeded:
        return StepResult(id=tool, tool=tool, args={}, status="failed", error={"code": "TOOL_TIMEOUT", "message": "no"})
    result = sample_result(tools.get(tool).output_schema, is_full=is_full)
    return StepResult(id=tool, tool=tool, args={}, status="succeeded", result=result)
