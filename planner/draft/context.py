"""The planning context: everything that a planning call needs, so that it looks nothing up."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from turnloom.models.contracts.knowledge import Lesson
from turnloom.models.contracts.memory import Exchange, RecalledResult
from turnloom.models.contracts.plan import Plan, Step
from turnloom.models.contracts.step_result import StepResult
from turnloom.models.contracts.turn import Again, Mode
from turnloom.planner.agents import AgentProfile
from turnloom.planner.llm.protocol import PromptMessage
from turnloom.planner.memory.slot_state import shown
from turnloom.planner.plan.phases import kept
from turnloom.planner.plan.playbooks import NO_PLAYBOOKS, Playbooks
from turnloom.planner.prompts import Prompts, Rendered, shipped
from turnloom.tools.registry import Registry


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanningContext:
    """A message to plan for, and everything that its planner may know."""

    agent: AgentProfile
    tools: Registry
    """The tools that the agent may use."""
    unavailable: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Tool -> `{code, scopes | service}`, the reason why it cannot be used now. Tools that the user has not granted are
    not among `tools`."""
    message: str
    mode: Mode
    now: datetime
    """The time in the user's time zone. Prompts know no other clock."""
    timeout_s: float
    """Time for drafting, including a repair."""
    prompts: Prompts = field(default_factory=shipped)
    """The prompts, with the tenant's own texts."""
    playbooks: Playbooks = NO_PLAYBOOKS
    """The playbooks that a plan may call."""
    user: dict[str, Any] = field(default_factory=dict)
    history: Sequence[Exchange] = ()
    """Earlier turns of the conversation, oldest first, without those that the summary covers."""
    summary: str | None = None
    """A summary of the turns before `history`."""
    slots: Mapping[str, Any] = field(default_factory=dict)
    """Slots that the conversation has settled so far."""
    memory: Sequence[RecalledResult] = ()
    """Results of earlier turns, newest first. A plan may build on those that hold; the others tell what was done."""
    knowledge: Mapping[str, Any] = field(default_factory=dict)
    """The part of the knowledge graph that matters for the message, in mode `adaptive`."""
    last: Plan | None = None
    """The last revision of the turn's plan, with the steps of earlier ones that have run, in mode `adaptive`."""
    lesson: Lesson | None = None
    """The lesson from the results of the last revision."""
    asked: Sequence[Mapping[str, Any]] = ()
    """Calls for which the last reply asked the user something, each as `{tool, args, needs}`."""
    searched: Sequence[str] = ()
    """The words for which the model has searched for tools while this plan is drafted."""
    shows_few_tools: bool = False
    """Whether a prompt shows only the tools that fit what was said, however few there are."""
    revision: int = 0
    """Number of revisions of the turn's plan so far."""
    again: Again | None = None
    """Why the turn is planned again; None for its first plan."""
    done: Sequence[StepResult] = ()
    """Outcomes of the steps of earlier revisions. They never run again; later steps may refer to their results."""

    @property
    def offered(self) -> Registry:
        """The tools that a step may call, with the playbooks among them."""
        return self.playbooks.beside(self.tools)

    @property
    def contradicted(self) -> Mapping[str, str]:
        """Assumptions of the last revision that turned out to be wrong, each with the reason."""
        return self.lesson.contradicted if self.lesson else {}


def known(context: PlanningContext) -> list[Rendered]:
    """Render what a prompt says about the conversation besides its last messages.

    That is its summary, slots, memory and open questions, and the unavailable tools.
    """
    slots = shown(context.slots, context.agent.slots)
    render, parts = context.prompts.render, []
    memory = [entry.shown() for entry in context.memory if entry.holds]
    earlier = [*_doubtful(context.history), *(entry.shown() for entry in context.memory if not entry.holds)]
    if context.summary or slots or memory or earlier or context.asked:
        of_conversation = {"summary": context.summary, "slots": slots, "asked": list(context.asked)}
        parts.append(render("planning/known", **of_conversation, memory=memory, earlier=earlier))
    if context.unavailable and context.mode != "direct":
        parts.append(render("planning/unavailable", unavailable=context.unavailable))
    return parts


def known_facts(context: PlanningContext) -> list[Rendered]:
    """Render what a prompt says about the knowledge of a conversation, and about the steps of its plan that wait."""
    standing = [step.model_dump(mode="json", exclude_defaults=True) for step in _standing(context)]
    if context.knowledge or context.contradicted or standing:
        known_of = {"knowledge": context.knowledge, "contradicted": context.contradicted, "kept": standing}
        return [context.prompts.render("planning/knowledge", **known_of)]
    return []


def _doubtful(history: Sequence[Exchange]) -> list[str]:
    """Return the names of the results with these exchanges on which a plan cannot build."""
    return [entry.name_in(exchange.seq) for exchange in history for entry in exchange.found if not entry.holds]


def _standing(context: PlanningContext) -> list[Step]:
    ran = {step.id for step in context.done}
    return kept(context.last, ran, context.contradicted) if context.last else []


def history_messages(history: Sequence[Exchange], prompts: Prompts) -> list[PromptMessage]:
    """Return earlier turns as messages of a prompt, with what they found. What is said of a turn never changes.

    An exchange that a caller brought along may lack its message or its reply.
    """
    messages: list[PromptMessage] = []
    for exchange in history:
        if exchange.message:
            found = [entry.shown_with(exchange.seq) for entry in exchange.found]
            past = prompts.render("planning/past", message=exchange.message, found=found)
            messages.append({"role": "user", "content": past.text})
        if exchange.reply:
            messages.append({"role": "assistant", "content": exchange.told})
    return messages
