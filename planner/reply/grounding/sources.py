"""Gather the evidence for a reply: results first, then results of earlier turns, then the words of the user."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from turnloom.models.contracts.memory import Exchange, RecalledResult
from turnloom.models.contracts.step_result import StepResult
from turnloom.planner.agents import AgentProfile
from turnloom.planner.reply.grounding.evidence import Evidence, ResultOrigin
from turnloom.tools.registry import Registry


class Told(Protocol):
    """The common part of a planning call and a reply: the agent, the user and the message."""

    @property
    def agent(self) -> AgentProfile: ...
    @property
    def tools(self) -> Registry: ...
    @property
    def now(self) -> datetime: ...
    @property
    def message(self) -> str: ...
    @property
    def user(self) -> Mapping[str, Any]: ...
    @property
    def slots(self) -> Mapping[str, Any]: ...
    @property
    def history(self) -> Sequence[Exchange]: ...


def gather(told: Told, steps: Sequence[StepResult], remembered: Sequence[RecalledResult]) -> Evidence:
    """Return the evidence for a reply. A figure that a result and the user both have comes from the result."""
    evidence = Evidence(told.now)
    for step in steps:
        origin = _origin(told.tools, step.tool, step.id)
        if step.status == "succeeded" and _is_evidence(told.tools, step.tool):
            evidence.add_result(step.result, origin)
        if step.asks:
            evidence.add_result(dict(step.asks), origin, "needs")
    for entry in sorted(remembered, key=lambda entry: entry.age_s):
        evidence.add_result(entry.result, _origin(told.tools, entry.tool, entry.step, entry.turn, entry.age_s))
    evidence.add_said(told.message, "message")
    evidence.add_said(dict(told.slots), "slots")
    evidence.add_said(dict(told.user), "user")
    evidence.add_said([exchange.message for exchange in told.history], "history")
    evidence.add_authored(told.agent.persona, "persona")
    # Some names of tools and scopes have dots and look like host names.
    evidence.add_authored(" ".join(sorted(_names(told.tools))), "tools")
    return evidence


def _names(tools: Registry) -> set[str]:
    return {*tools.tools, *(scope for tool in tools.tools.values() for scope in tool.scopes)}


def _is_evidence(tools: Registry, name: str) -> bool:
    return name not in tools.tools or tools.tools[name].is_evidence


def _origin(tools: Registry, name: str, step: str, turn: str | None = None, age_s: int = 0) -> ResultOrigin:
    tool = tools.tools.get(name)
    if tool is None:
        return ResultOrigin(step, turn, age_s)
    return ResultOrigin(step, turn, age_s, tool.public, tool.redact, tool.outside)
