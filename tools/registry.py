"""The registry: a tool is one decorated function.

    @tool("travel.lookup_weather", effect="read", timeout_s=10)
    def lookup_weather(query: WeatherQuery, context: ToolContext) -> Weather:
        '''Look up the weather of a city for some days.'''

The first argument's annotation is the input model, the return annotation the output model, the docstring's first
line what the language model reads. Tools come in packs (`packs.py`); every module of an enabled pack is loaded.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, get_type_hints

from pydantic import BaseModel

from models.contracts.artifact import Artifact
from models.contracts.knowledge import Finding
from models.contracts.plan import Effect
from models.errors import NotFound
from tools.context import ToolContext
from tools.packs import find_packs, load_pack, pack_of

Queue = Literal["tools.io", "tools.cpu"]

Integration = str
"""An outside service, such as `caldav`."""

Rate = str
"""Calls in a time: `5/minute`; per `second`, `minute`, `hour` or `day`."""

RATE = re.compile("[1-9][0-9]{0,5}/(second|minute|hour|day)")


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A declared tool: everything that planner, runner and documentation know about it."""

    name: str
    description: str
    input: type[BaseModel]
    output: type[BaseModel]
    call: Callable[[Any, ToolContext], BaseModel]
    effect: Effect
    timeout_s: float = 10.0
    retries: int = 2
    """Further tries inside one claim after a transient failure (`Unavailable`)."""
    inline: bool = False
    """Pure and about a millisecond long."""
    isolation: Literal["thread", "process"] = "thread"
    """`process`: may block or burn CPU; runs in a pool of processes with hard limits."""
    formatter: bool = False
    """Its result is the canonical output of a plan that ends in it."""
    artifact: Callable[[Any], Artifact | None] | None = None
    """Makes the reply's structured part from the output model; None where there is nothing to show."""
    facts: Callable[[Any], Iterable[Finding]] | None = None
    """Reads from the output model what a conversation should know from now on, for its knowledge graph."""
    reconcile: Callable[[Any, ToolContext], BaseModel | None] | None = None
    """Asks the backend by `context.idempotency_key` what became of a call whose worker was lost: its result, or None
    where it took no effect and may be made again. A lost write of a tool without it ends as `unknown`."""
    clean_up: Callable[[], None] | None = None
    """Undoes what lost calls have left half done that nobody asks after, in all tenants. Called about once a minute, by
    several processes at once if need be."""
    shareable: bool = True
    """Whether a call that only reads is made once where a plan has it twice; not where the call is the point."""
    remember_s: float | None = None
    """How long a result holds: the same call in the same conversation is not made again meanwhile. None: it is always
    made. Only of tools that read and need no approval; an inline tool's call is made, and its result told the
    planner."""
    always_made: bool = False
    """Whether a call is made although its result is remembered, because others change what it reads: what is
    remembered only tells the planner what the user has seen."""
    scopes: frozenset[str] = frozenset()
    """What the user must have granted, such as `calendar.events.propose`; checked at planning and again at the call."""
    integration: Integration | Callable[[Any, ToolContext], Integration | None] | None = None
    """The outside service that it talks to: its circuit breaker goes by it, and, of tools with scopes, which of the
    user's accounts counts. A function where the arguments, a checked input model, or who asks say which it is,
    if any."""
    per_user: Rate | None = None
    """How often one user may call it; beyond that calls wait for their time, or end RATE_LIMITED."""
    per_tenant: Rate | None = None
    """The same for all users of a tenant together."""
    cache_s: float | None = None
    """How long a result holds for everybody in the tenant: the same call is made once meanwhile, whoever asks. Only of
    tools that read, and whose result does not depend on who asks."""
    version: int = 1
    """To be raised where the same arguments come to mean another result: what was cached before counts no more."""
    requires_approval: bool = False
    """A person must approve each call, with the arguments that it is to be made with."""
    redact: frozenset[str] = frozenset()
    """Names of argument and result fields that logs and events never show."""
    public: frozenset[str] = frozenset()
    """Names of result fields whose phone numbers and addresses anybody may be told, such as a hotel's."""
    outside: frozenset[str] = frozenset()
    """Names of result fields with what strangers have written, such as a page's text. A reply may say it as the word of
    the page whose `url` stands beside it: a price only where it names the page's host, and never a link."""
    is_evidence: bool = True
    """Whether a reply may say what a result says; not where that is only what the plan has put into the arguments."""
    errors: tuple[str, ...] = ()
    """Codes it may fail with, beside those of the runner."""
    asks: tuple[str, ...] = ()
    """Fields that it may ask the user for (`NeedsInput`)."""

    def __post_init__(self) -> None:
        """Refuse a rate that cannot be read, and a cache where a call does more than read."""
        for rate in (self.per_user, self.per_tenant):
            if rate is not None and not RATE.fullmatch(rate):
                raise TypeError(f"tool {self.name}: {rate!r} is not a rate such as 5/minute")
        if self.cache_s is not None and (self.effect != "read" or self.requires_approval):
            raise TypeError(f"tool {self.name}: only what reads, and needs no approval, can be cached")

    def integration_of(self, query: BaseModel, context: ToolContext) -> Integration | None:
        """Return the outside service that a call talks to."""
        return self.integration(query, context) if callable(self.integration) else self.integration

    @property
    def queue(self) -> Queue:
        """The queue its steps are sent to."""
        return "tools.cpu" if self.isolation == "process" else "tools.io"

    @property
    def pack(self) -> str:
        """The pack whose module declares it, whatever its name begins with."""
        return pack_of(self.call.__module__)

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        """JSON schema of the arguments."""
        return self.input.model_json_schema()

    @cached_property
    def output_schema(self) -> dict[str, Any]:
        """JSON schema of the result, as it is stored and referred to."""
        return self.output.model_json_schema(mode="serialization")


_declared: dict[str, Tool] = {}


def tool(name: str, *, effect: Effect, **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare a function as a tool. `options` are the further fields of `Tool`.

    Raises:
        TypeError: the function lacks a model annotation, a docstring, or its name is taken.
    """

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        hints = get_type_hints(function)
        parameters = list(inspect.signature(function).parameters)
        input_model, output_model = hints.get(parameters[0] if parameters else ""), hints.get("return")
        for model in (input_model, output_model):
            if not (isinstance(model, type) and issubclass(model, BaseModel)):
                raise TypeError(f"tool {name}: the first argument and the result need pydantic models as annotations")
        if not function.__doc__:
            raise TypeError(f"tool {name}: needs a docstring; its first line is what the language model reads")
        if name in _declared and _declared[name].call.__module__ != function.__module__:
            raise TypeError(f"tool {name} is declared twice")
        description = inspect.cleandoc(function.__doc__).split("\n\n")[0].replace("\n", " ")
        assert isinstance(input_model, type)
        assert isinstance(output_model, type)
        _declared[name] = Tool(
            name=name,
            description=description,
            input=input_model,
            output=output_model,
            call=function,
            effect=effect,
            **options,
        )
        return function

    return declare


@dataclass(frozen=True)
class Registry:
    """The tools of some packs, by name."""

    tools: Mapping[str, Tool] = field(default_factory=dict)

    def get(self, name: str) -> Tool:
        """Return the tool of that name.

        Raises:
            NotFound: there is none, or its pack is not enabled.
        """
        if name not in self.tools:
            raise NotFound(f"there is no tool {name!r}; `turnloom tools list` shows those of the enabled packs")
        return self.tools[name]

    def allowed(self, patterns: Iterable[str]) -> "Registry":
        """Return those tools that some pattern names: a tool, `travel.*` for names that begin so, or `*` for all."""
        names = {name for pattern in patterns for name in self.tools if _matches(pattern, name)}
        return Registry({name: self.tools[name] for name in sorted(names)})


def load_registry(packs: Iterable[str]) -> Registry:
    """Import every module of these packs and return their tools.

    Raises:
        NotFound: there is no such pack, or it cannot be loaded.
        Conflict: two installed packs have this name.
    """
    wanted = find_packs(packs)
    for pack in wanted:
        load_pack(pack)
    names = {pack.name for pack in wanted}
    return Registry({name: found for name, found in sorted(_declared.items()) if found.pack in names})


def _matches(pattern: str, name: str) -> bool:
    return pattern in ("*", name) or (pattern.endswith(".*") and name.startswith(pattern[:-1]))
