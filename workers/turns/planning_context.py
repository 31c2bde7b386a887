"""The planning context gathers what a planning call needs to know about a turn and its conversation."""

from typing import cast

from turnloom.models.connections.database import statement
from turnloom.models.contracts.step_result import StepResult
from turnloom.models.contracts.turn import Mode
from turnloom.models.ledger import replies
from turnloom.models.ledger.turns import ClaimedTurn
from turnloom.models.runtime.local_time import local_now
from turnloom.planner.agents import AgentProfile
from turnloom.planner.draft.context import PlanningContext
from turnloom.planner.draft.packing import wants_summary
from turnloom.planner.plan.playbooks import NO_PLAYBOOKS
from turnloom.tools.registry import Registry
from turnloom.workers.dispatch import send
from turnloom.workers.turns.process_parts import tailored

_PLANNING_S = 120.0
"""Time for a draft, its repair and their retries."""


def recall(turn: ClaimedTurn, agent: AgentProfile, tools: Registry) -> PlanningContext:
    """Return the context of a planning call.

    Raises:
        Unavailable: Postgres does not answer.
    """
    recalled = turn.recalled
    assert recalled is not None  # the caller has not posted a plan
    if wants_summary(recalled.history, agent):
        send("summarise", turn.id, queue="plan")
    mode, tailor = cast("Mode", turn.mode or agent.mode), tailored(turn.tenant_id, turn.conversation_id)
    return PlanningContext(
        agent=agent,
        tools=tools,
        message=turn.message,
        mode=mode,
        now=local_now(turn.person),
        timeout_s=min(turn.left_ms / 1000, _PLANNING_S),
        prompts=tailor.prompts,
        # The other modes plan a part at a time; a playbook is a whole.
        playbooks=tailor.playbooks.for_agent(agent.name, tools) if mode in ("auto", "plan") else NO_PLAYBOOKS,
        user=turn.person,
        history=recalled.history,
        summary=recalled.summary,
        slots=turn.slots,
        asked=recalled.asked,
        memory=recalled.memory,
        revision=turn.revision,
        again=turn.again,
        done=_done(turn),
    )


def _done(turn: ClaimedTurn) -> list[StepResult]:
    """Return the results of the steps of the plan's earlier revisions."""
    if turn.revision == 0:
        return []
    with statement() as db:
        material = replies.gather(db, turn.id)
    return material.steps if material else []
