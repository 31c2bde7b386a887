"""The prompt of a planning call: rules with the tools, earlier messages, what is known, the message.

In: a planning context.  Out: messages and response schema. Parts that change least come first, and what grows within a
conversation or a turn is appended, so that a provider's prompt cache serves them. The same context gives equal bytes.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from turnloom.models.contracts.step_result import StepResult
from turnloom.models.runtime.local_time import timezone_of
from turnloom.planner.agents import AgentProfile
from turnloom.planner.draft.context import PlanningContext, history_messages, known, known_facts
from turnloom.planner.draft.packing import packed
from turnloom.planner.draft.tool_choice import choose
from turnloom.planner.llm.protocol import PromptMessage
from turnloom.planner.llm.schema import plan_schema
from turnloom.planner.llm.signatures import signature
from turnloom.planner.prompts import Prompts, Rendered
from turnloom.planner.voice import voice
from turnloom.tools.registry import Tool


def planning_messages(context: PlanningContext) -> tuple[list[PromptMessage], tuple[str, ...]]:
    """Return the prompt of a planning call, and `name@version` of its parts."""
    choice = choose(context)
    rules = _Rules(
        prompts=context.prompts,
        profile=context.agent.model_dump_json(),
        agent=context.agent,
        tools=tuple(choice.shown.tools.values()),
        others=", ".join(f"{name} ({count})" for name, count in choice.others.items()),
        phased=context.mode == "adaptive",
        locale=context.user.get("locale"),
        timezone=timezone_of(context.user),
    )
    return _messages(context, _planning_rules(rules))


def direct_messages(context: PlanningContext) -> tuple[list[PromptMessage], tuple[str, ...]]:
    """Return the prompt of a call that answers without tools, and `name@version` of its parts."""
    spoken, parts = voice(context.agent, context.prompts, context.user)
    return _messages(context, [context.prompts.render("system/direct", **spoken), *parts])


def plan_form(context: PlanningContext) -> dict[str, Any]:
    """Return the response schema of a planning call."""
    at_most, phased = 1 if context.mode == "react" else None, context.mode == "adaptive"
    choice = choose(context)
    return plan_schema(choice.shown, at_most, context.agent, phased=phased, searches=bool(choice.others))


_MOST_EXAMPLES = 2
_SHORT = 40
"""Characters of fields that are written out each time."""
_INNER = re.compile(r"(?<!\w)(\w+)\??: \{([^{}]*)\}")
"""A field of objects without objects inside, and their fields."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rules:
    """The inputs of the rules in a planning prompt."""

    prompts: Prompts
    profile: str
    """The agent's profile as JSON. The profile itself holds lists, which cannot be hashed."""
    agent: AgentProfile = field(compare=False)
    tools: tuple[Tool, ...]
    """The tools that are shown."""
    others: str
    """What other tools there are, for people and models."""
    phased: bool
    locale: str | None
    timezone: str


@lru_cache(maxsize=128)
def _planning_rules(rules: _Rules) -> Sequence[Rendered]:
    """Return the rules and the parts that they were rendered from. They are cached: most messages share them."""
    agent = rules.agent
    spoken, parts = voice(agent, rules.prompts, {"locale": rules.locale, "timezone": rules.timezone})
    text = rules.prompts.render(
        "system/planning",
        **spoken,
        planning=agent.planning,
        slots=bool(agent.slots),
        hints=bool(agent.hints),
        phased=rules.phased,
        tools=_described(rules.tools),
        others=rules.others,
        examples=_examples(agent, rules.tools),
    )
    return text, *parts


def _messages(context: PlanningContext, system: Sequence[Rendered]) -> tuple[list[PromptMessage], tuple[str, ...]]:
    context = packed(context)
    past = history_messages(context.history, context.prompts)
    asked = context.prompts.render(
        "planning/message", message=context.message, user=context.user, now=context.now, mode=context.mode
    )
    parts = [*system, *known(context), asked, *_revision(context), *known_facts(context)]
    messages: list[PromptMessage] = [
        {"role": "system", "content": system[0].text},
        *past,
        {"role": "user", "content": "\n".join(part.text for part in parts[len(system) :])},
    ]
    return messages, tuple(part.source for part in parts)


def _revision(context: PlanningContext) -> list[Rendered]:
    """Return what a revision's prompt adds to the message: the steps so far, and the reason to plan again."""
    if not context.revision:
        return []
    done = [_observed(step) for step in context.done]
    return [context.prompts.render("planning/revision", again=context.again, mode=context.mode, done=done)]


def _observed(step: StepResult) -> dict[str, Any]:
    seen = {"id": step.id, "tool": step.tool, "args": step.args, "status": step.status, "result": step.result}
    return {name: value for name, value in {**seen, "error": step.error}.items() if value is not None}


def _described(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    """Describe the tools. Fields that an earlier result has too are written once: `...NAME` stands for them."""
    described: list[dict[str, Any]] = []
    names: dict[str, str] = {}
    for tool in tools:
        result = signature(tool.output_schema)
        own = {result[1:-1]: tool.name} | {fields: f"{tool.name}.{name}" for name, fields in _INNER.findall(result)}
        for others, name in names.items():
            result = re.sub(rf"(?<=[{{ ]){re.escape(others)}(?=[,}}])", f"...{name}", result)
        described.append({"name": tool.name, "effect": tool.effect, "description": tool.description, "result": result})
        names = {fields: name for fields, name in own.items() if len(fields) > _SHORT} | names
    return described


def _examples(agent: AgentProfile, tools: Sequence[Tool]) -> list[dict[str, str]]:
    """Return the first examples of an agent whose tools are among these, as messages and answers in JSON."""
    names = {tool.name for tool in tools}
    fitting = [example for example in agent.examples if example.tools <= names][:_MOST_EXAMPLES]
    return [{"message": _json(one.message), "plan": _json(one.plan)} for one in fitting]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
