"""Playbooks: small plans kept as data.

A planner calls a playbook as a single step. If no language model answers, a playbook stands in for the plan.

In: files under prompts/playbooks with typed inputs, and with steps whose arguments hold `${input}` or `${step.path}`.
Out: tools named `playbook.NAME` for whoever plans. `planner.plan.expansion` replaces the calls of them.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, Field, PrivateAttr, WithJsonSchema, create_model, model_validator

from turnloom.models.contracts.base import Contract
from turnloom.models.contracts.plan import STEP_ID, Effect
from turnloom.models.errors import Misconfigured, NotFound
from turnloom.models.runtime.yaml_text import read_plain_yaml
from turnloom.planner.memory.slot_state import slot_schemas
from turnloom.planner.memory.slots import Slot, read_value
from turnloom.planner.profile_files import profile_files, read_file
from turnloom.planner.prompts import digest
from turnloom.tools.context import ToolContext
from turnloom.tools.registry import Registry, Tool

PREFIX = "playbook."
"""The beginning of a playbook's name among tools."""

VARIABLE = re.compile(r"\$\{([A-Za-z0-9_-]{1,64})((?:\.[A-Za-z0-9_-]+|\[\d+\])*)\}")
"""`${name.path[0].field}`: an input, or a step's result."""

_MOST_STEPS = 50
_EFFECTS: tuple[Effect, ...] = ("read", "write", "spend")


class PlaybookStep(Contract):
    """One step of a playbook: a call of a tool or of another playbook."""

    id: str = Field(pattern=f"^{STEP_ID.pattern}$")
    tool: str
    args: dict[str, Any] = Field(default_factory=dict)
    """Values, `${input}`, or `${step.path}` of an earlier step. An argument without a value is left out."""
    needs: list[str] = Field(default_factory=list)
    """Earlier steps to wait for, besides those that the arguments refer to."""
    run_if: str | None = Field(None, pattern=f"^{VARIABLE.pattern}$")
    """A value that must exist and not be empty, zero or false. Otherwise the step is left out."""
    on_need_error: Literal["skip", "run"] = "skip"
    critical: bool = True
    reason: str | None = None


class Playbook(Contract):
    """A small plan and its purpose."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]{0,47}$")
    version: int = Field(ge=1)
    description: str = Field(min_length=1)
    """The description for the language model."""
    agents: list[str] = Field(min_length=1)
    """The agents that may call it."""
    inputs: dict[str, Slot] = Field(default_factory=dict)
    """Its typed inputs. If it stands in for a plan, they come from slots of the same names, or from what is known of
    the user."""
    when: list[str] = Field(default_factory=list)
    """Inputs that must be known. If this is empty, the playbook never stands in for a plan."""
    action: str
    """The work in one phrase for people."""
    synthesis_hint: str | None = None
    steps: list[PlaybookStep] = Field(min_length=1)
    result: str = ""
    """The step whose result is the playbook's result; if absent, the last step."""
    _digest: str = PrivateAttr("")

    @property
    def source(self) -> str:
        """The name in traces: `playbooks/name@version`; a tenant's own adds `+` and the digest of its text."""
        return f"playbooks/{self.name}@{self.version}{self._digest and '+'}{self._digest}"

    @property
    def result_step(self) -> PlaybookStep:
        """The step whose result is the playbook's result."""
        return next((step for step in self.steps if step.id == self.result), self.steps[-1])

    @cached_property
    def input_model(self) -> type[BaseModel]:
        """The inputs as a model, as a tool declares them."""
        fields: dict[str, Any] = {}
        for name, schema in slot_schemas(self.inputs).items():
            slot = self.inputs[name]
            kind = Annotated[Any, BeforeValidator(partial(_read, slot)), WithJsonSchema(schema)]
            fields[name] = (kind, ...) if name in self.when else (kind | None, slot.default)
        return create_model(f"{self.name}_inputs", __base__=Contract, **fields)

    @model_validator(mode="after")
    def steps_fit(self) -> Self:
        """Refuse steps that refer to anything that is not before them, and a result that may be left out."""
        known = set(self.inputs)
        for step in self.steps:
            named = {*step.needs, *_named([step.args, step.run_if])}
            if step.id in known or not named <= known:
                raise ValueError(f"step {step.id}: its id is taken, or {sorted(named - known)} is not before it")
            if step.run_if and called_name(step.tool):
                raise ValueError(f"step {step.id}: a call of a playbook takes no `run_if`")
            known.add(step.id)
        if not set(self.when) <= self.inputs.keys():
            raise ValueError(f"`when` may name only inputs, not {sorted(set(self.when) - self.inputs.keys())}")
        if self.result_step.run_if or self.result_step.id != (self.result or self.steps[-1].id):
            raise ValueError("`result` must name a step without `run_if`")
        return self


@dataclass(frozen=True)
class Playbooks:
    """Playbooks by name, and the names of those that may be called."""

    books: Mapping[str, Playbook] = field(default_factory=dict)
    offered: tuple[str, ...] = ()
    """Names of those that may be called from outside, in their order."""

    def __post_init__(self) -> None:
        """Refuse playbooks that call each other in a circle, call an unknown playbook, or stand for too many steps.

        Raises:
            ValueError: they do; the message names the playbook.
        """
        for name in self.books:
            self._length(name, ())

    def _length(self, name: str, callers: tuple[str, ...]) -> int:
        if name in callers:
            raise ValueError(f"playbooks call each other in a circle: {' -> '.join([*callers, name])}")
        if name not in self.books:
            raise ValueError(f"playbook {callers[-1]!r} calls the playbook {name!r}, which does not exist")
        called = [called_name(step.tool) for step in self.books[name].steps]
        length = sum(1 if inner is None else self._length(inner, (*callers, name)) for inner in called)
        if length > _MOST_STEPS:
            raise ValueError(f"playbook {name!r} stands for {length} steps; {_MOST_STEPS} are allowed")
        return length

    def get(self, name: str) -> Playbook:
        """Return the playbook of that name.

        Raises:
            NotFound: it does not exist; the message names those that do.
        """
        if name not in self.books:
            raise NotFound(f"there is no playbook {name!r}; there are: {', '.join(self.books) or 'none'}")
        return self.books[name]

    def for_agent(self, agent: str, tools: Registry) -> "Playbooks":
        """Return a copy that offers only the agent's playbooks whose tools are all among these."""
        own = (name for name, book in self.books.items() if agent in book.agents)
        return replace(self, offered=tuple(name for name in own if tools.tools.keys() >= set(self._tools(name))))

    def beside(self, tools: Registry) -> Registry:
        """Return the tools with the offered playbooks among them as tools."""
        if not self.offered:
            return tools
        return Registry({**tools.tools, **{PREFIX + name: self.as_tool(name, tools) for name in self.offered}})

    def as_tool(self, name: str, tools: Registry) -> Tool:
        """Return a playbook as a tool for whoever plans: its inputs, its result, the worst of its effects."""
        used = [tools.get(tool) for tool in self._tools(name)]
        return _as_tool(
            name,
            self.books[name].description,
            self.books[name].input_model,
            tools.get(self._result_tool(name)),
            max((tool.effect for tool in used), key=_EFFECTS.index),
            any(tool.requires_approval for tool in used),
        )

    def _tools(self, name: str) -> Iterator[str]:
        for step in self.books[name].steps:
            inner = called_name(step.tool)
            yield from [step.tool] if inner is None else self._tools(inner)

    def _result_tool(self, name: str) -> str:
        tool = self.books[name].result_step.tool
        inner = called_name(tool)
        return tool if inner is None else self._result_tool(inner)


NO_PLAYBOOKS = Playbooks()


def called_name(tool: str) -> str | None:
    """Return the name of the playbook that a step calls; None if it calls a tool."""
    return tool.removeprefix(PREFIX) if tool.startswith(PREFIX) else None


def read_playbook(name: str, text: str, *, own: bool = False) -> Playbook:
    """Read a playbook. `own`: whether the text is a tenant's own and not the shipped one.

    Raises:
        ValueError: the text is not a playbook, or has another name.
    """
    book = Playbook.model_validate(read_plain_yaml(text))
    if book.name != name:
        raise ValueError(f"it describes the playbook {book.name!r}; name the file after it")
    if own:
        book._digest = digest(text)  # noqa: SLF001 - set only here, so that no file can claim it
    return book


@lru_cache
def load_playbooks(folder: Path) -> Playbooks:
    """Read every playbook in a folder, such as prompts/playbooks, and those of enabled packs.

    Raises:
        Misconfigured: a playbook is invalid, or playbooks call each other in a circle.
    """
    books = {name: read_file(path, partial(read_playbook, name)) for name, path in profile_files(folder).items()}
    try:
        return Playbooks(books)
    except ValueError as error:
        raise Misconfigured(f"{folder}: {error}") from error


@lru_cache(maxsize=256)
def _as_tool(
    name: str, description: str, inputs: type[BaseModel], result: Tool, effect: Effect, requires_approval: bool
) -> Tool:
    """Make the tool once. Its schemas are made once per tool, and plan schemas are cached by their tools."""
    return Tool(
        name=PREFIX + name,
        description=description,
        input=inputs,
        output=result.output,
        call=_never_called,
        effect=effect,
        requires_approval=requires_approval,
    )


def _read(slot: Slot, value: Any) -> Any:
    return read_value(value, slot)


def _named(value: Any) -> Iterator[str]:
    """Yield the names of the inputs and steps that a value refers to.

    Raises:
        ValueError: a `${...}` is only a part of a text. Its value need not be text.
    """
    if isinstance(value, str) and "${" in value:
        found = VARIABLE.fullmatch(value)
        if found is None:
            raise ValueError(f"{value!r}: write ${{input}} or ${{step.path}} as the whole value")
        yield found[1]
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _named(inner)


def _never_called(_query: Any, _context: ToolContext) -> BaseModel:
    raise AssertionError("a playbook is replaced by its steps before anything runs")
