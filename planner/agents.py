"""Agents: profiles read from prompts/agents/*.yaml. An agent is data; none has code of its own."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Literal, Self

import yaml
from pydantic import Field, PrivateAttr, model_validator

from models.contracts.base import Contract
from models.contracts.turn import Mode
from models.errors import NotFound
from models.settings import Placement, settings
from planner.profile_files import read_file
from planner.slots import Slot, check_slots
from planner.validation import Limits


class Formatter(Contract):
    """The tool that joins results into one answer, and where its arguments come from if no step called it."""

    tool: str
    hint: str
    """The synthesis hint that asks for it."""
    args: dict[str, list[str | int]]
    """Argument -> where its value may come from, the first there is counts: `slots.name`, `tool.name` for the last
    result of that tool, `tool.name:field` for a field of it, a number for itself. One that comes from nowhere is left
    out."""


class AgentProfile(Contract):
    """An agent: its persona, tools, limits and style."""

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
    max_rounds: int = Field(8, ge=1, le=100)
    """Revisions of a turn's plan in the modes `react` and `adaptive`, at most."""
    max_replans: int = Field(1, ge=0, le=10)
    """How often a turn is planned again because failures block its answer, in the other modes."""
    max_duration_s: float = Field(600, gt=0)
    """After this much work a turn is not planned again."""
    max_cost: float | None = Field(None, gt=0)
    """After this much spent on language models a turn is not planned again; null: any amount."""
    max_llm_tokens: int | None = Field(None, ge=1)
    """Tokens of language models for one turn, prompts and answers together; over it none is asked; null: any number."""
    responder: Literal["template", "llm"] = "llm"
    """Who writes the reply where no template is made for it."""
    slots: dict[str, Slot] = Field(default_factory=dict)
    """What the messages of a conversation may settle, as typed values."""
    hints: list[str] = Field(default_factory=list)
    """The reply templates that a plan may ask for as its synthesis hint: names under prompts/responding."""
    formatter: Formatter | None = None
    """What makes the answer whole where the plan's own formatter is missing or failed."""
    grounding: Literal["strict", "results"] = "strict"
    """`strict`: no reply holds a figure without a source. `results`: so with replies made from results; what the
    planner answers by itself is not checked."""
    context_tokens: int = Field(6_000, ge=500)
    """Tokens that a planning call may spend on the past: history, memory, knowledge and results, by our estimate."""
    critic: Literal["auto", "off", "always"] = "auto"
    """When a second call looks over a reply before it is sent: where there is reason to doubt it, never, always."""
    critic_below: float = Field(0.8, ge=0, le=1)
    """Under this confidence the planner counts as unsure."""
    llm: str | None = None
    """The language model by name; the default setting where absent."""
    style: str = "default"
    """The voice: a name under prompts/styles."""
    placement: Placement | None = None
    """How steps are laid on workers; the deployment's setting where absent."""

    _digest: str = PrivateAttr("")

    @property
    def source(self) -> str:
        """What traces say of it: `agents/name@version`, of a tenant's own with `+` and that text's digest."""
        return f"agents/{self.name}@{self.version}{self._digest and '+'}{self._digest}"

    @property
    def limits(self) -> Limits:
        """Bounds of a plan for this agent: its own, and the deployment's on steps."""
        return Limits(settings().plan_max_steps, self.max_depth, self.max_fan_out, self.slots)

    @model_validator(mode="after")
    def mode_is_allowed(self) -> Self:
        """Refuse a default mode that is not among the modes."""
        if self.mode not in self.modes:
            raise ValueError(f"agent {self.name}: the default mode {self.mode!r} is not one of its modes")
        return self

    @model_validator(mode="after")
    def slots_fit(self) -> Self:
        """Refuse slots that speak of others which there are not."""
        check_slots(self.slots)
        return self


def changed(base: AgentProfile | None, fields: Mapping[str, Any], digest: str) -> AgentProfile:
    """Return a profile with a tenant's own fields in place of the shipped ones; all are its own where there is no base.

    Raises:
        ValueError: what comes of it is no profile.
    """
    kept = base.model_dump(exclude_unset=True) if base else {}
    profile = AgentProfile.model_validate({**kept, **fields})
    profile._digest = digest  # noqa: SLF001 - only here; a file cannot say it of itself
    return profile


@dataclass(frozen=True)
class Agents:
    """Agents by name."""

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
        Misconfigured: a profile is wrong, or its name is not its file's. It names the file and the line.
    """
    return Agents({path.stem: read_file(path, partial(_profile, path.stem)) for path in sorted(folder.glob("*.yaml"))})


def _profile(name: str, text: str) -> AgentProfile:
    profile = AgentProfile.model_validate(yaml.safe_load(text))
    if profile.name != name:
        raise ValueError(f"it describes the agent {profile.name!r}; name the file after it")
    return profile
