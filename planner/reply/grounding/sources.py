"""Gather the evidence for a reply: results first, then results of earlier turns, then the words of the user.

What a person wrote in place of the agent may be said again, too.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

from turnloom.models.contracts.memory import Exchange, RecalledResult
from turnloom.models.contracts.step_result import StepResult
from turnloom.planner.agents import AgentProfile
from turnloom.planner.reply.grounding.evidence import Evidence
from turnloom.planner.reply.grounding.places import ResultOrigin
from turnloom.planner.reply.grounding.said_deeds import ANY
from turnloom.tools.registry import Registry, Tool


class UserWords(NamedTuple):
    """The words of the user in a conversation, and the facts known about the user."""

    message: str
    slots: Mapping[str, Any]
    user: Mapping[str, Any]
    history: Sequence[Exchange]


def gather(
    agent: AgentProfile,
    tools: Registry,
    now: datetime,
    *,
    steps: Sequence[StepResult],
    memory: Sequence[RecalledResult],
    said: UserWords,
) -> Evidence:
    """Return the evidence for a reply. A figure that a result and the user both have comes from the result."""
    evidence = Evidence(now)
    # What the user has said comes first, because it tells which records are the user's own.
    evidence.add_said(said.message, "message")
    evidence.add_said(dict(said.slots), "slots")
    evidence.add_said(dict(said.user), "user")
    evidence.add_said([exchange.message for exchange in said.history], "history")
    for step in steps:
        origin = _origin(tools, step.tool, step.id)
        if step.status == "succeeded" and _is_evidence(tools, step.tool):
            evidence.add_result(step.result, origin)
            evidence.add_asked(step.args, origin)
        if cause := (step.error or {}).get("cause"):
            evidence.add_result(cause, ResultOrigin(step.id), "error")
        if step.asks:
            # A step that only asks has done nothing yet.
            evidence.add_result(dict(step.asks), replace(origin, deeds=frozenset()), "needs")
    for entry in sorted((one for one in memory if _is_evidence(tools, one.tool)), key=lambda entry: entry.age_s):
        origin = _origin(tools, entry.tool, entry.step, entry.turn, entry.age_s)
        evidence.add_result(entry.result, origin)
        evidence.add_asked(entry.args, origin)
    for text, path in _authored(agent, tools, said.history):
        evidence.add_authored(text, path)
    return evidence


def _authored(agent: AgentProfile, tools: Registry, history: Sequence[Exchange]) -> Iterator[tuple[str, str]]:
    """Yield the texts of the agent's makers, and what a person has written in its place, with their paths."""
    for exchange in history:
        if exchange.author is not None:
            yield exchange.reply, "history"
    yield agent.persona, "persona"
    if agent.manner and agent.manner.assistant_name:
        yield agent.manner.assistant_name, "persona"
    # Some names of tools and scopes have dots and look like host names.
    yield " ".join(sorted(_names(tools))), "tools"


def _names(tools: Registry) -> set[str]:
    return {*tools.tools, *(scope for tool in tools.tools.values() for scope in tool.scopes)}


def _is_evidence(tools: Registry, name: str) -> bool:
    return name not in tools.tools or tools.tools[name].is_evidence


def _origin(tools: Registry, name: str, step: str, turn: str | None = None, age_s: int = 0) -> ResultOrigin:
    tool = tools.tools.get(name)
    if tool is None:
        return ResultOrigin(step, turn, age_s)
    return ResultOrigin(step, turn, age_s, tool.public, tool.redact, tool.outside, tool.says, _deeds(tool))


def _deeds(tool: Tool) -> frozenset[str]:
    """Return what a call of a tool has done. One that writes and declares nothing may have done anything."""
    if tool.deeds is not None:
        return tool.deeds
    return frozenset() if tool.effect == "read" else frozenset({ANY})
