"""Agents: profiles read from prompts/agents/*.yaml. An agent is data; none has code of its own."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal, Self

import yaml
from pydantic import Field, model_validator

from models.contracts.base import Contract
from models.contracts.turn import Mode
from models.errors import NotFound
from models.settings import Placement, settings
from planner.validation import Limits


class AgentProfile(Contract):
    """Who answers, with which tools, within which bounds, in which voice."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_-]{0,63}$")
    version: int = Field(ge=1)
    description: str
    """One sentence for people who choose an agent."""
    persona: str
    """Who the language model is told to be."""
    planning: str = ""
    """Advice for planning with this agent's tools."""
    tools: list[str]
    """What it may call: tools, `pack.*`, or `*`."""
    modes: list[Mode]
    """The modes a turn may ask for."""
    mode: Mode
    """The mode of a turn that asks for none."""
    max_depth: int | None = Field(None, ge=1)
    """Steps on a plan's longest path, at most."""
    max_fan_out: int | None = Field(None, ge=1)
    """Steps that need the same step directly, at most."""
    max_parallel: int | None = Field(6, ge=1)
    """Steps of one turn that are under way at a time, at most; null: any number."""
    responder: Literal["template", "llm"] = "llm"
    """Who writes the reply where no template is made for it."""
    llm: str | None = None
    """The language model by name; the default setting where absent."""
    style: str = "default"
    """The voice: a name under prompts/styles."""
    placement: Placement | None = None
    """How steps are laid on workers; the deployment's setting where absent."""

    @property
    def limits(self) -> Limits:
        """Bounds of a plan for this agent: its own, and the deployment's on steps."""
        return Limits(settings().plan_max_steps, self.max_depth, self.max_fan_out)

    @model_validator(mode="after")
    def mode_is_allowed(self) -> Self:
        """Refuse a default mode that is not among the modes."""
        if self.mode not in self.modes:
            raise ValueError(f"agent {self.name}: the default mode {self.mode!r} is not one of its modes")
        return self


@dataclass(frozen=True)
class Agents:
    """The shipped agents, by name."""

    profiles: Mapping[str, AgentProfile]

    def get(self, name: str) -> AgentProfile:
        """Return the agent of that name.

        Raises:
            NotFound: there is none; the message names those that exist.
        """
        if name not in self.profiles:
            raise NotFound(f"there is no agent {name!r}; there are: {', '.join(self.profiles)}")
        return self.profiles[name]


@lru_cache
def load_agents(folder: Path) -> Agents:
    """Read every profile in a folder, such as prompts/agents.

    Raises:
        ValueError: a profile is wrong, or its name is not its file's.
    """
    profiles = {}
    for path in sorted(folder.glob("*.yaml")):
        profile = AgentProfile.model_validate(yaml.safe_load(path.read_text("utf-8")))
        if profile.name != path.stem:
            raise ValueError(f"{path.name} describes the agent {profile.name!r}; name the file after it")
        profiles[profile.name] = profile
    return Agents(profiles)
