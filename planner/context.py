"""What a planning call is told: everything, and nothing it would have to look up."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from models.contracts.knowledge import Lesson
from models.contracts.plan import Plan, Step
from models.contracts.turn import Again, Mode
from planner.agents import AgentProfile
from planner.llm.protocol import Message
from planner.phases import kept
from planner.playbooks import NO_PLAYBOOKS, Playbooks
from planner.prompts import Prompts, Rendered, shipped
from planner.results import Remembered, StepOutcome
from planner.settling import shown
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
    unavailable: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Tool -> `{code, scopes | service}`: why it cannot be used now. Those that the user has not granted are not among
    the tools."""
    message: str
    mode: Mode
    now: datetime
    """The only clock a prompt knows, in the user's time zone."""
    timeout_s: float
    """Time for drafting, a repair included."""
    prompts: Prompts = field(default_factory=shipped)
    """As the tenant has them."""
    playbooks: Playbooks = NO_PLAYBOOKS
    """Those that a plan may call."""
    user: dict[str, Any] = field(default_factory=dict)
    history: Sequence[Exchange] = ()
    """Earlier turns of the conversation, oldest first; those that the summary covers are not among them."""
    summary: str | None = None
    """What was said before these, summed up."""
    slots: Mapping[str, Any] = field(default_factory=dict)
    """What the conversation has settled so far."""
    memory: Sequence[Remembered] = ()
    """Results of earlier turns that still hold, the newest first."""
    knowledge: Mapping[str, Any] = field(default_factory=dict)
    """What is known that matters for the message: the snapshot of the knowledge graph, in mode `adaptive`."""
    last: Plan | None = None
    """The last revision of the turn's plan with what it builds on, in mode `adaptive`."""
    lesson: Lesson | None = None
    """What was learned from its results."""
    asked: Sequence[Mapping[str, Any]] = ()
    """`{tool, args, needs}` of the calls for which the last reply asked the user something."""
    revision: int = 0
    """Revisions of the turn's plan so far."""
    again: Again | None = None
    """Why it is planned again, where it is."""
    done: Sequence[StepOutcome] = ()
    """How the steps of the earlier revisions ended. They never run again; later steps may refer to their results."""

    @property
    def offered(self) -> Registry:
        """What a step may call: the tools, and the playbooks among them."""
        return self.playbooks.beside(self.tools)

    @property
    def contradicted(self) -> Mapping[str, str]:
        """Assumption of the last revision that has turned out to be wrong -> why."""
        return self.lesson.contradicted if self.lesson else {}


def known(context: PlanningContext) -> list[Rendered]:
    """Return what is told of the conversation beside its last messages: its summary, state, memory and knowledge."""
    slots = shown(context.slots, context.agent.slots)
    memory = [entry.shown() for entry in context.memory]
    render, parts = context.prompts.render, []
    if context.summary or slots or memory or context.asked:
        of_conversation = {"summary": context.summary, "slots": slots, "memory": memory, "asked": list(context.asked)}
        parts.append(render("planning/known", **of_conversation))
    if context.unavailable and context.mode != "direct":
        parts.append(render("planning/unavailable", unavailable=context.unavailable))
    standing = [step.model_dump(mode="json", exclude_defaults=True) for step in _standing(context)]
    if context.knowledge or context.contradicted or standing:
        known_of = {"knowledge": context.knowledge, "contradicted": context.contradicted, "kept": standing}
        parts.append(render("planning/knowledge", **known_of))
    return parts


def _standing(context: PlanningContext) -> list[Step]:
    ran = {step.id for step in context.done}
    return kept(context.last, ran, context.contradicted) if context.last else []


def history_messages(history: Sequence[Exchange], prompts: Prompts) -> list[Message]:
    """Return earlier turns as messages of a prompt."""
    messages: list[Message] = []
    for exchange in history:
        messages.append({"role": "user", "content": prompts.render("planning/past", message=exchange.message).text})
        messages.append({"role": "assistant", "content": exchange.reply})
    return messages
