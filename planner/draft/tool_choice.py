"""Tool choice: which of an agent's tools a planning prompt shows, if there are too many for all.

In: a planning context.  Out: the tools that fit what was said.  Pure: the same conversation gives the same tools, and
each message only adds to them, so that a provider's prompt cache holds. `tools.search` lets the model ask for others.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pydantic import Field

from turnloom.models.contracts.base import Contract
from turnloom.models.errors import InvalidPlan
from turnloom.models.runtime.settings import settings
from turnloom.planner.bm25 import matches
from turnloom.planner.draft.context import PlanningContext
from turnloom.planner.llm.decoding import decode
from turnloom.planner.words import words_in
from turnloom.tools.registry import Registry, Tool

SEARCH = "tools.search"
"""The name under which the model asks for tools that it is not shown. It is answered here, and is never a step."""

_PER_MESSAGE = 6
"""Most tools that one message adds."""
_BEST_SHARE = 0.25
"""A tool that matches a message less than this share of the best match is not added."""


class SearchWords(Contract):
    """A search for tools."""

    words: str = Field(min_length=1, max_length=200)


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """The tools that a prompt shows, and what else there is."""

    shown: Registry
    """The chosen tools; with `tools.search` among them if there are others that were not searched yet."""
    others: Mapping[str, int]
    """First word of their names -> number of tools that are not shown."""


def choose(context: PlanningContext) -> ToolChoice:
    """Return the tools to show."""
    offered = context.offered
    if len(offered.tools) <= settings().plan_tools_shown and not context.shows_few_tools:
        return ToolChoice(offered, {})
    names = {*_always(context), *_used(context)}
    texts = _texts(tuple(offered.tools.values()))
    for said in (*_said(context), *context.searched):
        names |= set(_best(texts, said))
    shown = {name: tool for name, tool in offered.tools.items() if name in names}
    others = Counter(name.split(".")[0] for name in offered.tools if name not in shown)
    if not others or context.searched:  # one search is enough: what it did not find is not there
        return ToolChoice(Registry(shown), {})
    return ToolChoice(Registry({**shown, SEARCH: _SEARCH_TOOL}), dict(sorted(others.items())))


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


def _best(texts: Mapping[str, Counter[str]], said: str) -> list[str]:
    """Return the names of the tools that match a text best, of equal ones the first by name."""
    found = matches(texts, frozenset(words_in(said, shortest=3)))
    ranked = sorted(found, key=lambda name: (-found[name], name))[:_PER_MESSAGE]
    least = max(found.values()) * _BEST_SHARE
    return [name for name in ranked if found[name] > 0 and found[name] >= least]


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


def _never(_query: Any, _context: Any) -> Contract:
    raise NotImplementedError(f"{SEARCH} is answered while a plan is drafted")


_SEARCH_TOOL = Tool(name=SEARCH, description="", input=SearchWords, output=Contract, call=_never, effect="read")
