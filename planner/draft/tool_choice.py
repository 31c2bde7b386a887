"""Tool choice: which of an agent's tools a planning prompt shows, if there are too many for all.

In: a planning context.  Out: the tools that fit what was said.  Pure: the same conversation gives the same tools, and
each message only adds to them, so that a provider's prompt cache holds. `tools.search` lets the model ask for others.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from turnloom.models.errors import InvalidPlan
from turnloom.models.runtime.settings import settings
from turnloom.planner.bm25 import matches
from turnloom.planner.draft.context import PlanningContext
from turnloom.planner.llm.decoding import decode
from turnloom.planner.llm.schema import SEARCH
from turnloom.planner.words import words_in
from turnloom.tools.registry import Registry, Tool

_PER_MESSAGE = 6
"""Most tools that one message adds."""
_WELL = 0.3
"""A tool that matches a message at least this share of the best match fits it well."""
_BEST_SHARE = 0.25
"""A tool that matches a message less than this share of the best match is not added."""


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """The tools that a prompt shows, and what else there is."""

    shown: Registry
    """The chosen tools."""
    others: Mapping[str, int]
    """First word of their names -> number of tools that are not shown. The model may search for them; empty if it has
    done so: what the search did not find is not there."""


def choose(context: PlanningContext) -> ToolChoice:
    """Return the tools to show."""
    offered = context.offered
    if len(offered.tools) <= settings().plan_tools_shown and not context.shows_few_tools:
        return ToolChoice(offered, {})
    always = _always(context)
    names = set(always)
    for said in _said(context):
        found = _best(offered, said)
        names.update(found if names == always else _wanted(offered, said, found, names))
    names.update(_used(context), *(_best(offered, words) for words in context.searched))
    shown = Registry({name: tool for name, tool in offered.tools.items() if name in names})
    others = Counter(name.split(".")[0] for name in offered.tools if name not in names)
    return ToolChoice(shown, {} if context.searched else dict(sorted(others.items())))


def ranked(tools: Registry, said: str) -> Mapping[str, float]:
    """Return how well each tool matches a text, the best first; equal ones by name."""
    return _ranked(tuple(tools.tools.values()), said)


def searches_in(text: str, tools: Registry) -> list[str]:
    """Return the words of the searches for tools in a plan that the model wrote."""
    if SEARCH not in text:
        return []
    try:
        steps = decode(text, tools).get("steps")
    except InvalidPlan:
        return []
    calls = [step for step in steps if isinstance(step, dict)] if isinstance(steps, list) else []
    return [json.dumps(call.get("args"), ensure_ascii=False) for call in calls if call.get("tool") == SEARCH]


def _said(context: PlanningContext) -> Iterator[str]:
    if context.summary:
        yield context.summary
    for exchange in context.history:
        yield exchange.message
    yield context.message


def _always(context: PlanningContext) -> frozenset[str]:
    return frozenset(context.offered.allowed(context.agent.always_shown).tools)


def _used(context: PlanningContext) -> Iterator[str]:
    """Yield the tools of calls that the prompt tells of."""
    yield from (entry.tool for entry in context.memory)
    yield from (str(call["tool"]) for call in context.asked)
    yield from (step.tool for step in context.done)
    yield from (step.tool for step in (context.last.steps if context.last else ()))


@lru_cache(maxsize=512)
def _ranked(tools: tuple[Tool, ...], said: str) -> Mapping[str, float]:
    """Rank the tools. It is remembered: each message is looked at again with every later one of its conversation."""
    found = matches(_texts(tools), _words(said))
    return {name: found[name] for name in sorted(found, key=lambda name: (-found[name], name))}


@lru_cache(maxsize=1_024)
def _words(text: str) -> frozenset[str]:
    """Return the words of a message, or of a tool's name."""
    return frozenset(words_in(text, shortest=3))


def _best(tools: Registry, said: str) -> dict[str, float]:
    """Return the tools that match a text best, and how well."""
    found = ranked(tools, said)
    least = max(found.values()) * _BEST_SHARE
    return {name: match for name, match in list(found.items())[:_PER_MESSAGE] if match > 0 and match >= least}


def _wanted(tools: Registry, said: str, best: Mapping[str, float], shown: Collection[str]) -> Collection[str]:
    """Return those of the best tools that a later message adds.

    Where one that is shown already fits well, these are only the tools of whose name the message has a word: "make it
    three days" does not want another tool that makes something.
    """
    found = ranked(tools, said)
    if not best or max(found[name] for name in shown) < max(best.values()) * _WELL:
        return best
    return [name for name in best if not _words(said).isdisjoint(_words(name))]


@lru_cache(maxsize=128)
def _texts(tools: tuple[Tool, ...]) -> Mapping[str, Counter[str]]:
    """Return the words of each tool: of its name, its description, and its arguments with their descriptions."""
    return {tool.name: Counter(words_in(" ".join(_words_of(tool)), shortest=3)) for tool in tools}


def _words_of(tool: Tool) -> Iterator[str]:
    yield tool.name
    yield tool.description
    for name, schema in tool.input_schema.get("properties", {}).items():
        yield name
        yield str(schema.get("description", ""))
