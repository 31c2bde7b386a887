"""Agents: profiles read from prompts/agents/*.yaml. An agent is data and has no code of its own."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, PrivateAttr, model_validator

from turnloom.models.contracts.base import Contract
from turnloom.models.contracts.manner import Manner
from turnloom.models.contracts.turn import Mode
from turnloom.models.errors import NotFound
from turnloom.models.runtime.settings import Placement, settings
from turnloom.models.runtime.yaml_text import read_yaml
from turnloom.planner.memory.slots import Slot, check_slots
from turnloom.planner.plan.limits import PlanLimits
from turnloom.planner.profile_files import profile_files, read_file


class Formatter(Contract):
    """The tool that joins results into one answer, and the sources of its arguments if no step called it."""

    tool: str
    hint: str
    """The synthesis hint that asks for this tool."""
    args: dict[str, list[str | int]]
    """Argument -> possible sources of its value, of which the first that has one counts: `slots.name`, `tool.name` for
    the last result of that tool, `tool.name:field` for a field of it, a number for itself. An argument without a value
    is left out."""

    @property
    def sources(self) -> frozenset[str]:
        """The tools whose results it joins."""
        return frozenset(
            source.partition(":")[0] for found in self.args.values() for source in found if isinstance(source, str)
        )


class Suggestion(Contract):
    """Words that the user may say next."""

    text: str = Field(min_length=1, max_length=120)
    after: str | None = Field(None, pattern=r"^[a-z][a-z0-9_.]*(:[A-Za-z0-9_.\[\]]+)?$")
    """The tool whose result makes them apt. `tool:path`: only if its result has something there. If absent, they can
    be said at any time, and are suggested where there are no results."""


StepField = Literal["reason", "on_need_error", "fallbacks", "run_if", "critical", "parallel_group", "purpose"]
"""A field of a step that not every agent needs."""


class Example(Contract):
    """A message with a plan for it, as the language model should write it."""

    message: str
    plan: dict[str, Any]
    """The plan's fields; those that are left out are null."""

    @property
    def tools(self) -> frozenset[str]:
        """The tools that its steps call."""
        return frozenset(str(step["call"]["tool"]) for step in self.plan.get("steps", ()))


class AgentProfile(Contract):
    """An agent: its persona, tools, limits and style."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_-]{0,63}$")
    version: int = Field(ge=1)
    description: str
    """One sentence for people who choose an agent."""
    persona: str
    """The persona that the language model takes on."""
    planning: str = ""
    """Advice for planning with this agent's tools."""
    tools: list[str]
    """The tools it may call: names, `pack.*`, or `*`."""
    always_shown: list[str] = Field(default_factory=list)
    """Tools that every planning prompt shows, whatever was said, if it does not show all: names or `pack.*`."""
    modes: list[Mode]
    """The modes that a turn may ask for."""
    mode: Mode
    """The mode of a turn that asks for none."""
    max_depth: int | None = Field(None, ge=1)
    """Most steps on a plan's longest path; null: any number."""
    max_fan_out: int | None = Field(None, ge=1)
    """Most steps that need the same step directly; null: any number."""
    max_parallel: int | None = Field(6, ge=1)
    """Most steps of one turn that are under way at a time; null: any number."""
    max_rounds: int = Field(8, ge=1, le=100)
    """Most revisions of a turn's plan in the modes `react` and `adaptive`."""
    max_replans: int = Field(1, ge=0, le=10)
    """How often a turn may be planned again in the other modes because failures block its answer."""
    max_duration_s: float = Field(600, gt=0)
    """A turn is not planned again when this much time has passed since its planning began."""
    max_cost: float | None = Field(None, gt=0)
    """A turn is not planned again when it has spent this much on language models; null: any amount."""
    max_llm_tokens: int | None = Field(None, ge=1)
    """Most language-model tokens of one turn, prompts and answers together. A turn over the limit calls no language
    model; null: any number."""
    responder: Literal["template", "llm"] = "llm"
    """Who writes a reply that no specific template fits."""
    slots: dict[str, Slot] = Field(default_factory=dict)
    """The typed values that messages of a conversation may settle, by name."""
    examples: list[Example] = Field(default_factory=list)
    """Worked examples for the planner. A prompt shows the first two whose tools it shows."""
    step_fields: list[StepField] = Field(default_factory=list)
    """The further fields of a step that its language model may write."""
    hints: list[str] = Field(default_factory=list)
    """The reply templates that a plan may ask for as its synthesis hint: names under prompts/responding."""
    suggestions: list[Suggestion] = Field(default_factory=list)
    """What a reply suggests to say next, the best first."""
    formatter: Formatter | None = None
    """The tool that completes the answer if the plan's own formatter is missing or failed."""
    grounding: Literal["strict", "results"] = "strict"
    """`strict`: no reply holds a figure without a source. `results`: the same for replies made from results; the
    planner's own answers are not checked."""
    context_tokens: int = Field(6_000, ge=500)
    """Estimated tokens that a planning call may spend on the past: history, memory, knowledge and results."""
    critic: Literal["auto", "off", "always"] = "auto"
    """When a second call checks a reply before it is sent. `auto`: if there is reason to doubt the reply."""
    critic_below: float = Field(0.8, ge=0, le=1)
    """Below this confidence the planner counts as unsure."""
    llm: str | None = None
    """The language model, if the message names none: a name that the settings allow; if absent, their default."""
    style: str = "default"
    """The voice: a name under prompts/styles."""
    manner: Manner | None = None
    """How it speaks beside its persona, if the message does not say: its tone, its name, its specialization."""
    placement: Placement | None = None
    """How steps are placed on workers; if absent, the deployment's setting."""

    _digest: str = PrivateAttr("")

    @property
    def source(self) -> str:
        """The name in traces: `agents/name@version`; a tenant's own profile adds `+` and the digest of its text."""
        return f"agents/{self.name}@{self.version}{self._digest and '+'}{self._digest}"

    def asked(self, llm: str | None, manner: Manner | None) -> "AgentProfile":
        """Return the profile with what a message asks for: a manner, and a language model if it is still allowed."""
        wanted = {"llm": llm if llm in settings().llm_names else None, "manner": manner}
        update = {name: value for name, value in wanted.items() if value is not None}
        return self.model_copy(update=update) if update else self

    @property
    def limits(self) -> PlanLimits:
        """The bounds of a plan for this agent: its own, and the deployment's limit on steps."""
        return PlanLimits(settings().plan_max_steps, self.max_depth, self.max_fan_out, self.slots)

    @model_validator(mode="after")
    def mode_is_allowed(self) -> Self:
        """Refuse a default mode that is not among the modes."""
        if self.mode not in self.modes:
            raise ValueError(f"agent {self.name}: the default mode {self.mode!r} is not one of its modes")
        return self

    @model_validator(mode="after")
    def llm_is_allowed(self) -> Self:
        """Refuse a language model that the settings do not name."""
        if self.llm not in (None, *settings().llm_names):
            allowed = ", ".join(settings().llm_names)
            raise ValueError(f"agent {self.name}: llm is {self.llm!r}; TURNLOOM_LLM_MODELS allows {allowed}")
        return self

    @model_validator(mode="after")
    def slots_fit(self) -> Self:
        """Refuse slots that refer to unknown slots or take each other's names."""
        check_slots(self.slots)
        return self


def changed(base: AgentProfile | None, fields: Mapping[str, Any], digest: str) -> AgentProfile:
    """Return a profile with a tenant's fields over those of the base. Without a base all fields are the tenant's.

    Raises:
        ValueError: the result is not a valid profile.
    """
    kept = base.model_dump(exclude_unset=True) if base else {}
    profile = AgentProfile.model_validate({**kept, **fields})
    profile._digest = digest  # noqa: SLF001 - set only here, so that no file can claim a digest
    return profile


@dataclass(frozen=True)
class Agents:
    """Agents by name."""

    profiles: Mapping[str, AgentProfile]

    def get(self, name: str) -> AgentProfile:
        """Return the agent of that name.

        Raises:
            NotFound: it does not exist; the message names those that do.
        """
        if name not in self.profiles:
            raise NotFound(f"there is no agent {name!r}; there are: {', '.join(self.profiles)}")
        return self.profiles[name]


@lru_cache
def load_agents(folder: Path) -> Agents:
    """Read every profile in a folder, such as prompts/agents, and those of enabled packs.

    Raises:
        Misconfigured: a profile is invalid, or its name differs from its file's. The message names file and line.
    """
    return Agents({name: read_file(path, partial(_profile, name)) for name, path in profile_files(folder).items()})


def _profile(name: str, text: str) -> AgentProfile:
    profile = AgentProfile.model_validate(read_yaml(text))
    if profile.name != name:
        raise ValueError(f"it describes the agent {profile.name!r}; name the file after it")
    return profile
