"""Agents are read from files."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from turnloom.models.errors import Misconfigured, NotFound
from turnloom.models.runtime.settings import ROOT, settings
from turnloom.planner.agents import changed, load_agents
from turnloom.planner.draft.context import PlanningContext
from turnloom.planner.draft.drafting import draft
from turnloom.planner.draft.planning_prompt import planning_messages
from turnloom.planner.llm.decoding import decode
from turnloom.planner.llm.openai import OpenAIModel
from turnloom.planner.plan.validation import validate
from turnloom.planner.prompts import Prompts
from turnloom.tools.registry import Registry, load_registry

AGENTS = load_agents(ROOT / "prompts" / "agents")


def test_travel_and_generic_are_shipped(tools: Registry) -> None:
    """The travel agent has its own tools. The generic one has all tools and no limits."""
    travel, generic = AGENTS.get("travel"), AGENTS.get("generic")

    assert {tool.pack for tool in tools.allowed(travel.tools).tools.values()} == {"travel", "dates"}
    assert tools.allowed(generic.tools).tools.keys() == tools.tools.keys()
    assert (generic.max_depth, generic.max_fan_out, generic.max_parallel) == (None, None, None)
    assert travel.max_parallel == 6


@pytest.mark.parametrize("name", AGENTS.profiles)
def test_an_agents_style_exists(name: str) -> None:
    """Each agent's style is shipped, and each hint is a reply template with the inputs of all."""
    prompts, agent = Prompts(ROOT / "prompts"), AGENTS.get(name)

    assert prompts.has(f"styles/{agent.style}")
    for hint in agent.hints:
        assert prompts.get(f"responding/{hint}").inputs == prompts.get("responding/results").inputs


@pytest.mark.parametrize("name", AGENTS.profiles)
def test_the_planner_learns_whose_results_a_template_words(name: str) -> None:
    """The agent's advice says after which tools a hint is apt. After others its template would not be chosen."""
    prompts, agent = Prompts(ROOT / "prompts"), AGENTS.get(name)

    for hint in agent.hints:
        for tool in prompts.get(f"responding/{hint}").words_of:
            name_in_pack = tool.rpartition(".")[2]
            assert re.search(rf"\b{hint} after\s[^;,]*\b{name_in_pack}\b", agent.planning), (hint, tool)


def test_agent_without_any_tool_answers_directly(context: Callable[..., PlanningContext], offline: OpenAIModel) -> None:
    """If none of its packs is loaded, an agent answers without tools."""
    bare = replace(context("hello", agent="assistant"), tools=Registry({}))

    drafted = draft(bare, offline)

    assert drafted.plan
    assert (drafted.plan.reply, drafted.plan.steps) == ("Hello! What can I do for you?", [])
    assert any(source.startswith("system/direct@") for source in drafted.prompts)


def test_an_unknown_agent_is_answered_with_those_that_exist() -> None:
    """The error lists the agents."""
    with pytest.raises(NotFound, match="there are: assistant, generic"):
        AGENTS.get("hotle")


@pytest.mark.parametrize(
    "text",
    [
        "name: other\nversion: 1\ndescription: d\npersona: p\ntools: []\nmodes: [auto]\nmode: auto",
        "name: bad\nversion: 1\ndescription: d\npersona: p\ntools: []\nmodes: [plan]\nmode: auto",
        "name: bad\nversion: 1\ndescription: d\npersona: p\ntools: []\nmodes: [auto]\nmode: auto\nsurprise: 1",
        "name: bad\nversion: 1\ndescription: d\npersona: p\ntools: []\nmodes: [auto]\nmode: auto\nllm: costly",
    ],
    ids=["name", "mode", "unknown", "llm"],
)
def test_a_wrong_profile_stops_the_start(tmp_path: Path, text: str) -> None:
    """A profile with another name than its file, an unknown mode, field or language model is refused."""
    (tmp_path / "bad.yaml").write_text(text, "utf-8")

    with pytest.raises(Misconfigured, match=r"bad.yaml.*(other|mode|surprise|TURNLOOM_LLM_MODELS allows gpt-4o$)"):
        load_agents(tmp_path)


def test_the_language_model_of_a_message_goes_before_the_agents(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that the settings no longer allow counts as none."""
    monkeypatch.setenv("TURNLOOM_LLM_MODELS", '{"small": {}, "large": {}}')
    settings.cache_clear()
    agent = changed(AGENTS.get("travel"), {"llm": "small"}, "")

    assert [agent.asked(name, None).llm for name in (None, "large", "gone")] == ["small", "large", "small"]


@pytest.mark.parametrize("name", AGENTS.profiles)
def test_an_agents_examples_are_valid_plans(name: str) -> None:
    """The prompt shows the examples, and a model that wrote them would not be refused."""
    agent = AGENTS.get(name)
    tools = load_registry(["dates", "hotel", "meetings", "notifications", "research", "travel"]).allowed(agent.tools)

    plans = [validate(decode(json.dumps(example.plan), tools), tools, agent.limits) for example in agent.examples]

    assert [{step.tool for step in plan.steps} for plan in plans] == [example.tools for example in agent.examples]
    assert plans


def test_examples_are_shown_with_their_tools(context: Callable[..., PlanningContext]) -> None:
    """An example that calls a tool that is not shown would teach the model to call it."""
    asked = context("Weather in Rome?")
    without = replace(asked, tools=asked.tools.allowed(["travel.*"]))

    shown, fewer = (planning_messages(each)[0][0]["content"] for each in (asked, without))

    assert [text.count("dates.resolve_hint makes dates of them") for text in (shown, fewer)] == [1, 0]
    assert [text.count("Thanks, that was all!") for text in (shown, fewer)] == [1, 1]
