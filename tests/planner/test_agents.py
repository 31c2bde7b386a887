"""Agents are read from files."""

from pathlib import Path

import pytest

from models.errors import NotFound
from models.settings import ROOT
from planner.agents import load_agents
from planner.prompts import Prompts
from tools.registry import Registry

AGENTS = load_agents(ROOT / "prompts" / "agents")


def test_travel_and_generic_are_shipped(tools: Registry) -> None:
    """The travel agent has its own tools; the generic one has all and no bound."""
    travel, generic = AGENTS.get("travel"), AGENTS.get("generic")

    assert {tool.pack for tool in tools.allowed(travel.tools).tools.values()} == {"travel", "dates"}
    assert tools.allowed(generic.tools).tools.keys() == tools.tools.keys()
    assert (generic.max_depth, generic.max_fan_out, generic.max_parallel) == (None, None, None)
    assert travel.max_parallel == 6


@pytest.mark.parametrize("name", AGENTS.profiles)
def test_an_agents_style_exists(name: str) -> None:
    """Each agent's voice is a shipped style kit."""
    style = AGENTS.get(name).style

    assert Prompts(ROOT / "prompts").has(f"styles/{style}")


def test_an_unknown_agent_is_answered_with_those_that_exist() -> None:
    """The error names what there is."""
    with pytest.raises(NotFound, match="there are: generic, travel"):
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
    """A profile under another name, with a mode it lacks or a field nobody knows, is refused."""
    (tmp_path / "bad.yaml").write_text(text, "utf-8")

    with pytest.raises(ValueError, match=r"other|mode|surprise"):
        load_agents(tmp_path)
