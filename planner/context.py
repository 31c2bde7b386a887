"""What a planning call is told: everything, and nothing it would have to look up."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from models.contracts.turn import Mode
from planner.agents import AgentProfile
from planner.llm.protocol import Message
from planner.prompts import render
from tools.registry import Registry


@dataclass(frozen=True, slots=True)
class Exchange:
    """One finished turn of the conversation, as far as its words go."""

    message: str
    reply: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanningContext:
    """One message to plan for."""

    agent: AgentProfile
    tools: Registry
    """Those the agent may use."""
    message: str
    mode: Mode
    now: datetime
    """The only clock a prompt knows, in the user's time zone."""
    timeout_s: float
    """Time for drafting, a repair included."""
    user: dict[str, Any] = field(default_factory=dict)
    history: Sequence[Exchange] = ()
    """Earlier turns of the conversation, oldest first."""


def history_messages(history: Sequence[Exchange]) -> list[Message]:
    """Return earlier turns as messages of a prompt."""
    messages: list[Message] = []
    for exchange in history:
        messages.append({"role": "user", "content": render("planning/past", message=exchange.message).text})
        messages.append({"role": "assistant", "content": exchange.reply})
    return messages
