"""A new plan is compiled here into the form that the ledger records."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from turnloom.models.contracts.plan import Plan
from turnloom.models.contracts.usage import LlmCall
from turnloom.models.ledger.plans import NewPlan
from turnloom.models.ledger.turns import ClaimedTurn
from turnloom.models.runtime.settings import Placement, settings
from turnloom.planner.agents import AgentProfile
from turnloom.planner.memory.slot_state import merged
from turnloom.planner.plan.phases import steps_now
from turnloom.workers.compiling import compile_plan, fragment_rows
from turnloom.workers.turns.early_steps import HeldSteps
from turnloom.workers.turns.process_parts import registry


class PlanOrigin(NamedTuple):
    """The origin of a plan."""

    source: Literal["llm", "caller", "playbook"]
    trace: dict[str, Any]


def new_plan(
    turn: ClaimedTurn, agent: AgentProfile, plan: Plan, origin: PlanOrigin, held: HeldSteps, calls: Sequence[LlmCall]
) -> NewPlan:
    """Compile a plan around its steps that have started."""
    placement = placement_of(agent)
    is_phased = origin.source == "llm" and (turn.mode or agent.mode) == "adaptive"
    now = plan.model_copy(update={"steps": steps_now(plan, held.started)}) if is_phased else plan
    compiled = compile_plan(now, registry(), placement, agent.max_parallel, held.started)
    return NewPlan(
        plan=plan,
        source=origin.source,
        trace=origin.trace,
        steps=compiled.steps,
        fragments=fragment_rows(compiled.fragments, len(held.fragments)),
        placement=placement,
        max_parallel=compiled.max_parallel,
        calls=calls,
        slots=_settled_by(plan, turn, agent),
        begun=held.begun,
    )


def placement_of(agent: AgentProfile) -> Placement:
    """Return how the steps of an agent's turns are placed on workers."""
    return agent.placement or settings().placement


def _settled_by(plan: Plan, turn: ClaimedTurn, agent: AgentProfile) -> dict[str, Any] | None:
    """Return the conversation's slots after a plan; None if its message settled nothing."""
    if not agent.slots or not (plan.slots or plan.forget):
        return None
    return merged(turn.slots, plan.slots or {}, plan.forget or [], agent.slots)
