"""The registry: a tool is one decorated function.

    @tool("travel.lookup_weather", effect="read", timeout_s=10)
    def lookup_weather(query: WeatherQuery, context: ToolContext) -> Weather:
        '''Look up the weather of a city for some days.'''

The annotation of the first argument is the input model, and the return annotation is the output model. The language
model reads the first paragraph of the docstring. Tools come in packs (`pack_index.py`). Every module of an enabled pack
but its commands is loaded.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, get_type_hints

from pydantic import BaseModel

from turnloom.models.contracts.artifact import Artifact
from turnloom.models.contracts.knowledge import Finding
from turnloom.models.contracts.plan import Effect
from turnloom.models.contracts.rate import Rate, checked
from turnloom.models.errors import NotFound
from turnloom.tools.context import ToolContext
from turnloom.tools.extras import lacking
from turnloom.tools.pack_index import find_packs, load_pack, pack_of

Queue = Literal["tools.io", "tools.cpu"]

Integration = str
"""An outside service, such as `caldav`."""

_EFFECT_REMEMBERED_S = 30 * 86_400.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Tool:
    """A declared tool, with everything that planner, runner and documentation know about it.

    A tool equals itself only: caches have tools in their keys, and to hash all fields would cost more than they save.
    """

    name: str
    description: str
    input: type[BaseModel]
    output: type[BaseModel]
    call: Callable[[Any, ToolContext], BaseModel]
    effect: Effect
    timeout_s: float = 10.0
    retries: int = 2
    """Number of further tries within one claim after a transient failure (`Unavailable`)."""
    inline: bool = False
    """The tool is pure and takes about a millisecond."""
    isolation: Literal["thread", "process"] = "thread"
    """`process`: the tool may block or use much CPU, so it runs in a pool of processes with hard limits."""
    formatter: bool = False
    """The tool's result is the final output of a plan that ends with it."""
    artifact: Callable[[Any], Artifact | None] | None = None
    """Makes the structured part of the reply from the output model. It returns None if there is nothing to show. Its
    titles and labels are English, and may have places for fields of the result, such as `{check_in}`."""
    facts: Callable[[Any], Iterable[Finding]] | None = None
    """Extracts facts from the output model for the knowledge graph of the conversation."""
    reconcile: Callable[[Any, ToolContext], BaseModel | None] | None = None
    """Asks the backend, by `context.idempotency_key`, for the result of a call whose worker was lost. It returns None
    if the call took no effect and may be made again. Without it, a lost write of the tool ends as `unknown`."""
    clean_up: Callable[[], None] | None = None
    """Undoes what lost calls have left half done and nobody asks about, in all tenants. It is called about once a
    minute, possibly by several processes at once."""
    shareable: bool = True
    """Whether a plan that contains the same read twice makes it once. False if the point is the call itself."""
    remember_s: float | None = None
    """How long a conversation remembers a result, in seconds; 0 for not at all. Until then the same read in the same
    conversation is not made again. Calls that need approval and those of an inline tool are always made, and so are
    calls with an effect; their remembered results only inform the planner. None means 30 days for a tool with an
    effect, so that the planner knows what was done, and 0 for one that reads."""
    always_made: bool = False
    """Whether a call is made even if its result is remembered, because others may change the data. The remembered
    result then only tells the planner what the user has seen."""
    scopes: frozenset[str] = frozenset()
    """Scopes that the user must have granted, such as `calendar.events.propose`. They are checked at planning and again
    at the call."""
    integration: Integration | Callable[[Any, ToolContext], Integration | None] | None = None
    """The outside service that the tool calls. It determines the circuit breaker and, for tools with scopes, which of
    the user's accounts is used. Give a function if the service depends on the arguments, which it gets as a checked
    input model, or on the context. The function returns None if the call uses no outside service."""
    per_user: Rate | None = None
    """How often one user may call the tool. Further calls wait for their time, or fail with RATE_LIMITED."""
    per_tenant: Rate | None = None
    """The same limit for all users of a tenant together."""
    cache_s: float | None = None
    """How long a result stays valid for everybody in the tenant, in seconds. Until then the same call is made once,
    whoever asks. Only for tools that read and whose result does not depend on who asks."""
    version: int = 1
    """Raise it when the same arguments get another result. Results cached under the old version are then ignored."""
    requires_approval: bool = False
    """A person must approve each call, with its final arguments."""
    redact: frozenset[str] = frozenset()
    """Names of argument and result fields that logs and events never show."""
    public: frozenset[str] = frozenset()
    """Names of result fields whose phone numbers and addresses may be told to anybody, such as a hotel's."""
    outside: frozenset[str] = frozenset()
    """Names of result fields that contain text of strangers, such as a page's text. A reply may quote it as the words
    of the page whose `url` stands beside it. It may quote a price only if it names the page's host, and never a
    link."""
    is_evidence: bool = True
    """Whether a reply may state what the result says. False if the result only repeats what the plan put into the
    arguments."""
    says: Mapping[str, Mapping[str, str]] = field(default_factory=dict, hash=False)
    """Result field -> value -> what it means for the user, as an English sentence such as "breakfast is included". A
    reply that says the opposite is refused. A field such as `pets_allowed` needs no sentence."""
    deeds: frozenset[str] | None = None
    """What a call that succeeded has done, such as `confirmed`; the words are in
    `planner/reply/grounding/assertions.yaml`. A reply may claim no other deeds. None means none for a tool that reads,
    and anything for one that writes."""
    errors: tuple[str, ...] = ()
    """Error codes of the tool, in addition to those of the runner."""
    asks: tuple[str, ...] = ()
    """Fields that the tool may ask the user for (`NeedsInput`)."""
    readings: Callable[[Any], Mapping[str, list[Any]]] | None = None
    """Returns the readings of ambiguous words in the output model, as choices by field; nothing if they are clear. The
    result is that of the first reading. A reply that builds on it asks the user which one is meant."""
    extra: str | None = None
    """The extra of the package `turnloom` that brings its libraries. Without them no plan is offered the tool."""

    def __post_init__(self) -> None:
        """Refuse a rate that cannot be read, and a cache or a formatter that does more than read."""
        for rate in (self.per_user, self.per_tenant):
            if rate is not None:
                try:
                    checked(rate)
                except ValueError as error:
                    raise TypeError(f"tool {self.name}: {error}") from None
        if self.formatter and self.effect != "read":
            raise TypeError(f"tool {self.name}: a formatter makes the output of an answer, so it only reads")
        if self.cache_s is not None and (self.effect != "read" or self.requires_approval):
            raise TypeError(f"tool {self.name}: `cache_s` needs a tool that reads and requires no approval")

    def integration_of(self, query: BaseModel, context: ToolContext) -> Integration | None:
        """Return the outside service that a call uses; None if it uses none."""
        return self.integration(query, context) if callable(self.integration) else self.integration

    @property
    def remembered_s(self) -> float:
        """How long a conversation remembers a result, in seconds."""
        if self.remember_s is not None:
            return self.remember_s
        return 0.0 if self.effect == "read" else _EFFECT_REMEMBERED_S

    @property
    def queue(self) -> Queue:
        """The queue to which its steps are sent."""
        return "tools.cpu" if self.isolation == "process" else "tools.io"

    @property
    def pack(self) -> str:
        """The pack whose module declares the tool. The tool's name may begin with another word."""
        return pack_of(self.call.__module__)

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        """JSON schema of the arguments."""
        return self.input.model_json_schema()

    @cached_property
    def output_schema(self) -> dict[str, Any]:
        """JSON schema of the result, as it is stored and as other steps refer to it."""
        return self.output.model_json_schema(mode="serialization")


_declared: dict[str, Tool] = {}


def tool(name: str, *, effect: Effect, **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare a function as a tool. `options` are the other fields of `Tool`.

    Raises:
        TypeError: the function lacks a model annotation or a docstring, an option is wrong, or the name is taken.
    """

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        hints = get_type_hints(function)
        parameters = list(inspect.signature(function).parameters)
        input_model, output_model = hints.get(parameters[0] if parameters else ""), hints.get("return")
        for model in (input_model, output_model):
            if not (isinstance(model, type) and issubclass(model, BaseModel)):
                raise TypeError(f"tool {name}: the first argument and the result need pydantic models as annotations")
        if not function.__doc__:
            raise TypeError(f"tool {name}: needs a docstring; the language model reads its first paragraph")
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
        """Return the tool with that name.

        Raises:
            NotFound: there is no such tool, or its pack is not enabled.
        """
        if reason := unavailable().get(name):
            raise NotFound(f"the tool {name!r} is not available: {reason}")
        if name not in self.tools:
            raise NotFound(f"there is no tool {name!r}; `turnloom tools list` shows the tools of the enabled packs")
        return self.tools[name]

    def allowed(self, patterns: Iterable[str]) -> "Registry":
        """Return the tools that match a pattern: a name, `travel.*` for all names that begin with `travel.`, or `*`."""
        names = {name for pattern in patterns for name in self.tools if _matches(pattern, name)}
        return Registry({name: self.tools[name] for name in sorted(names)})


def load_registry(packs: Iterable[str]) -> Registry:
    """Import every module of these packs and return their tools, without those that lack an extra.

    Raises:
        NotFound: a pack does not exist or cannot be loaded.
        Conflict: two installed packs have the same name.
    """
    wanted = find_packs(packs)
    for pack in wanted:
        load_pack(pack)
    names, lost = {pack.name for pack in wanted}, unavailable()
    found = {name: each for name, each in sorted(_declared.items()) if each.pack in names and name not in lost}
    return Registry(found)


def unavailable() -> dict[str, str]:
    """Return the tools of the loaded packs that lack an extra of the package: name -> what to do."""
    return {tool.name: reason for tool in _declared.values() if tool.extra and (reason := lacking(tool.extra))}


def _matches(pattern: str, name: str) -> bool:
    return pattern in ("*", name) or (pattern.endswith(".*") and name.startswith(pattern[:-1]))
