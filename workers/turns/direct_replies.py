"""A direct reply answers at once: one commit records a plan without steps and ends its turn."""

import time
from typing import cast

from turnloom.models.connections.database import statement
from turnloom.models.contracts.material import Material
from turnloom.models.contracts.turn import Mode
from turnloom.models.ledger import plans
from turnloom.models.ledger.plans import NewPlan
from turnloom.models.ledger.replies import HISTORY
from turnloom.models.ledger.turns import ClaimedTurn
from turnloom.models.runtime.crash_points import reach
from turnloom.planner.llm.metering import Meter
from turnloom.workers.responding import conclude, ending_at_once


def answer_at_once(turn: ClaimedTurn, new: NewPlan, meter: Meter) -> bool:
    """Record a plan without steps, and end its turn. False: the language model takes part in the reply."""
    ending = ending_at_once(turn.id, _material(turn, new), meter)
    if ending is None:
        return False
    reach("reply.composed")
    with statement() as db:
        finished = plans.answer(db, turn.id, turn.attempt, new, ending, meter.calls)
    conclude(turn.id, turn.attempt, ending, finished, meter)
    return True


def _material(turn: ClaimedTurn, new: NewPlan) -> Material:
    """Return the material as the ledger would give it after recording the plan."""
    recalled, spent_ms = turn.recalled, round((time.monotonic() - turn.heard_at) * 1000)
    return Material(
        tenant_id=turn.tenant_id,
        conversation_id=turn.conversation_id,
        agent=turn.agent,
        llm=turn.llm,
        manner=turn.manner,
        message=turn.message,
        person=turn.person,
        action=new.plan.action,
        synthesis_hint=new.plan.synthesis_hint,
        on_error=turn.on_error,
        ending=None,
        submitted=new.source == "caller",
        stood_in=new.source == "playbook",
        confidence=new.plan.confidence,
        reply=new.plan.reply,
        slots=turn.slots if new.slots is None else new.slots,
        memory=recalled.memory if recalled else [],
        history=recalled.history[-HISTORY:] if recalled else [],
        usage=turn.usage,
        allowances=turn.allowances,
        last_event=turn.events[-1].seq,
        mode=cast("Mode | None", turn.mode),
        revision=turn.revision + 1,
        spent_ms=spent_ms,
        left_ms=max(0, turn.left_ms - spent_ms),
        steps=[],
    )
