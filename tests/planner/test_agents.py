"""Agents are read from files."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from turnloom.models.errors import Misconfigured, NotFound
from turnloom.models.runtime.settings import ROOT
from turnloom.planner.agents import load_agents
from turnloom.planner.draft.context import PlanningContext
from turnloom.planner.draft.drafting import draft
from turnloom.planner.draft.prompts import Prompts
from turnloom.planner.llm.openai import OpenAIModel
from turnloom.tools.registry import Registry

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
    ],
    ids=["name", "mode", "unknown"],
)
def test_a_wrong_profile_stops_the_start(tmp_path: Path, text: str) -> None:
    """A profile with another name than its file, an unknown mode or an unknown field is refused."""
    (tmp_path / "bad.yaml").write_text(text, "utf-8")

    with pytest.raises(Misconfigured, match=r"bad.yaml.*(other|mode|surprise)"):
        load_agents(tmp_path)
