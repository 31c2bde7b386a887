"""The context in which a recorded turn is planned for the first time, with the texts of today and its recorded past."""

from dataclasses import replace
from uuid import UUID
from zoneinfo import ZoneInfo

from turnloom.models.contracts.recorded import RecordedConversation, RecordedTurn
from turnloom.models.runtime.local_time import timezone_of
from turnloom.planner.agents import AgentProfile
from turnloom.planner.draft.context import PlanningContext
from turnloom.planner.knowledge.learning import shown
from turnloom.planner.plan.playbooks import NO_PLAYBOOKS
from turnloom.planner.tenant_texts import Tailored
from turnloom.tools.registry import Registry
from turnloom.workers.replay.past import Past
from turnloom.workers.turns.tool_availability import ToolAvailability, access_for, granted

LLM_S = 120.0
"""Real time for the calls of a language model for a plan, and for those for a reply."""


def offered_to(
    conversation: RecordedConversation, turn: RecordedTurn, tailored: Tailored, tools: Registry, tenant_id: UUID
) -> ToolAvailability:
    """Return the tools that a turn's plan may call. No service counts as down: outages are in the record."""
    profile = tailored.agents.profiles.get(turn.record.agent)
    tools = tools.allowed(profile.tools) if profile else Registry()
    if conversation.is_foreign:
        return ToolAvailability(tools)
    user_id = turn.person.get("id")
    return granted(tools, user_id, access_for(tenant_id, user_id, tools))


def first_context(
    turn: RecordedTurn, past: Past, tailored: Tailored, agent: AgentProfile, offered: ToolAvailability
) -> PlanningContext:
    """Return the context of a turn's first planning call."""
    mode = turn.mode or agent.mode
    is_whole = mode in ("auto", "plan")
    context = PlanningContext(
        agent=agent,
        tools=offered.tools,
        unavailable=offered.unavailable,
        message=turn.record.message,
        mode=mode,
        now=turn.begun_at.astimezone(ZoneInfo(timezone_of(turn.person))),
        timeout_s=LLM_S,
        prompts=tailored.prompts,
        playbooks=tailored.playbooks.for_agent(agent.name, offered.tools) if is_whole else NO_PLAYBOOKS,
        user=turn.person,
        history=past.history,
        summary=past.summary,
        slots=past.slots,
        asked=past.asked,
        memory=past.memory,
    )
    return replace(context, knowledge=shown(past.knowledge, context)) if mode == "adaptive" else context
