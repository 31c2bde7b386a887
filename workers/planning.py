"""Planning claims a queued turn, drafts a plan or takes the caller's, records it, and sends its steps."""

import sys
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

from celery.exceptions import Ignore
from celery.signals import worker_init

from turnloom.models.connections.database import statement
from turnloom.models.contracts.plan import Plan
from turnloom.models.errors import InvalidPlan, NotFound, TurnloomError, Unavailable
from turnloom.models.ledger import plans, turns
from turnloom.models.ledger.free_llm_slots import Crowded
from turnloom.models.ledger.recovery import LEASE_MS, MAX_ATTEMPTS
from turnloom.models.ledger.steps import Capacity, ClaimedLane, TurnFacts
from turnloom.models.ledger.turns import ClaimedTurn
from turnloom.models.runtime.crash_points import reach
from turnloom.models.runtime.logging import configure_logging, log
from turnloom.planner.agents import AgentProfile
from turnloom.planner.draft.context import PlanningContext
from turnloom.planner.draft.drafting import PlanDraft, draft
from turnloom.planner.llm.hooked_model import CallOrigin
from turnloom.planner.llm.metering import Meter
from turnloom.planner.memory.slot_state import shown
from turnloom.planner.plan.expansion import StandIn, stand_in
from turnloom.planner.plan.expressions import load_expression
from turnloom.planner.plan.validation import validate
from turnloom.planner.reply.apologies import Trouble
from turnloom.workers.broker import canvas
from turnloom.workers.broker.app import app
from turnloom.workers.dispatch import dispatch_turns
from turnloom.workers.execution import Executor
from turnloom.workers.responding import Deltas, broken, finish, respond
from turnloom.workers.turns.accounting import allowances_of, metered
from turnloom.workers.turns.apologies import apologise, excused, reason_of
from turnloom.workers.turns.conversation_knowledge import with_knowledge
from turnloom.workers.turns.direct_replies import answer_at_once
from turnloom.workers.turns.early_reads import EarlyReads
from turnloom.workers.turns.early_steps import EarlySteps, HeldSteps
from turnloom.workers.turns.layout import Layout, layout_of
from turnloom.workers.turns.llm_slots import Claiming, llm_slots
from turnloom.workers.turns.new_plans import PlanOrigin, new_plan, placement_of
from turnloom.workers.turns.planning_context import recall
from turnloom.workers.turns.postponement import postpone
from turnloom.workers.turns.process_parts import registry, tailored, warm_up
from turnloom.workers.turns.tool_availability import offer
from turnloom.workers.turns.turn_events import committing
from turnloom.workers.upkeep.heartbeat import current_holder, leases
from turnloom.workers.upkeep.preflight import check_language_model

Early = EarlySteps | EarlyReads


@worker_init.connect
def _warm_up(sender: Any, **_: Any) -> None:
    # A worker that only runs isolated tools neither plans nor answers.
    try:
        check_language_model(sender.app.amqp.queues.consume_from)
        warm_up(with_llm=set(sender.app.amqp.queues.consume_from) != {"tools.cpu"})
    except TurnloomError as error:
        # Celery would log it and continue, and every turn would fail on a worker that lacks a pack or a hook.
        configure_logging()  # Celery does this only later
        log.error("worker.not_started", reason=str(error))
        sys.exit(1)


@app.task(name="plan_turn")
def plan_turn(turn_id: str) -> None:
    """Plan a turn. Copies of the message that come too early or too late are ignored."""
    wanted = UUID(turn_id)
    with llm_slots().claiming(wanted, partial(dispatch_turns, [wanted])) as claiming:
        turn = _claimed(wanted, claiming)
        own = _plan_claimed(turn) if turn else None
    if own is not None:
        own.executor.run(own.lanes, own.slots, own.at)


def _claimed(turn_id: UUID, claiming: Claiming) -> ClaimedTurn | None:
    """Claim a turn with the slot that it needs. None: it waits for one.

    Raises:
        Ignore: this process may not plan it.
    """
    with committing(turn_id, "turn.claimed") as committed, statement() as db:
        found = turns.claim(db, turn_id, LEASE_MS, claiming.room)
        if isinstance(found, ClaimedTurn):
            committed(found)
    if found is None:
        raise Ignore
    if isinstance(found, Crowded):
        claiming.wait(found.tenant_id)
        return None
    claiming.take(None if found.submitted_plan is not None else found.tenant_id)
    return found


def _plan_claimed(turn: ClaimedTurn) -> "_Own | None":
    try:
        with leases.holding_turn(turn.id, turn.attempt):
            return _plan(turn)
    except Unavailable:
        raise  # Postgres is out: nothing can be recorded now, and recovery takes the turn back when its lease ends
    except (InvalidPlan, NotFound) as error:
        log.warning("plan.refused", turn_id=str(turn.id), error=error.code)
        if turn.revision:
            respond(turn.id, turn.attempt, may_plan_again=False)
        else:
            apologise(turn, "invalid_plan", error)
    except Exception as error:  # noqa: BLE001 - whatever goes wrong here, the user gets a reply
        log.exception("plan.broken", turn_id=str(turn.id))
        finish(turn.id, turn.attempt, broken(error, str(turn.id)))
    return None


class _Own(NamedTuple):
    """The fragments of a recorded plan that the planner runs itself."""

    executor: Executor
    lanes: list[ClaimedLane]
    slots: int
    at: float


def _plan(turn: ClaimedTurn) -> _Own | None:
    """Plan a turn and send its ready steps."""
    if turn.tries > MAX_ATTEMPTS:
        apologise(turn, "internal_error", TurnloomError(f"the planner was lost in each of {MAX_ATTEMPTS} attempts"))
        return None
    agent = tailored(turn.tenant_id, turn.conversation_id).agents.get(turn.agent).asked(turn.llm, turn.manner)
    origin = CallOrigin(
        tenant_id=turn.tenant_id,
        conversation_id=turn.conversation_id,
        turn_id=turn.id,
        agent=turn.agent,
        user=turn.person,
    )
    with metered(origin, [*turn.allowances, *allowances_of(agent, turn.usage)]) as meter:
        return _plan_as(turn, agent, meter)


def _plan_as(turn: ClaimedTurn, agent: AgentProfile, meter: Meter) -> _Own | None:
    tools = registry().allowed(agent.tools)
    if turn.submitted_plan is not None:
        plan = validate(turn.submitted_plan, tools, agent.limits)
        return _go_on(turn, agent, meter, plan, PlanOrigin("caller", {"agent": agent.source}))
    offered = offer(turn, tools)
    recalled = recall(turn, agent, offered.tools)
    meter.made_for(recalled.now)
    context = with_knowledge(turn, replace(recalled, unavailable=offered.unavailable), meter)
    if context is None:
        return None
    with _early(turn, context) as early:
        drafted = _draft(turn, context, early, meter)
        if isinstance(drafted, _Failure):
            return _go_without(turn, context, meter, drafted, early)
        plan, trace = drafted
        return _go_on(turn, agent, meter, plan, PlanOrigin("llm", trace), early)


def _early(turn: ClaimedTurn, context: PlanningContext) -> AbstractContextManager[Early]:
    """Return the handler of early steps: they run here, or are started elsewhere."""
    agent = context.agent
    layout = _layout(agent)
    if layout.planner_slots:
        return EarlyReads(turn, context.tools, current_holder(), agent.max_parallel, context.done)
    return nullcontext(EarlySteps(turn, context.tools, layout.slots, agent.max_parallel))


def drop_refused(turn: ClaimedTurn, early: Early) -> None:
    """Cancel the early steps of a refused plan, while the language model writes another one."""
    try:
        early.drop()
    except Unavailable as error:  # they are dropped at the latest before the other plan is recorded
        log.warning("early_steps.not_dropped", turn_id=str(turn.id), error=error.code)


@dataclass(frozen=True)
class _Failure:
    """The reason why the language model produced no plan."""

    trouble: Trouble
    error: TurnloomError
    trace: dict[str, Any]
    """The trace of planning so far; for an unusable answer, its text and its faults."""


def _draft(
    turn: ClaimedTurn, context: PlanningContext, early: Early, meter: Meter
) -> tuple[Plan, dict[str, Any]] | _Failure:
    """Let the language model draft. Returns its plan and the plan's trace."""
    deltas = Deltas(turn.id, turn.events[-1].seq)
    refused = partial(drop_refused, turn, early)
    try:
        drafted = draft(context, meter, on_step=early.take, on_refused=refused, on_delta=deltas)
    except Unavailable as error:
        log.warning("plan.failed", turn_id=str(turn.id), error=error.code)
        deltas.settle()
        trouble: Trouble = "budget_exceeded" if error.code == "budget_exceeded" else "llm_unavailable"
        return _Failure(trouble, error, {"agent": context.agent.source})
    deltas.settle()
    trace = _trace(context, drafted) | deltas.trace()
    if drafted.plan is not None:
        return drafted.plan, trace
    log.warning("plan.refused", turn_id=str(turn.id), faults=[fault["code"] for fault in drafted.faults])
    invalid = InvalidPlan("; ".join(fault["message"] for fault in drafted.faults)[:2_000])
    return _Failure("invalid_plan", invalid, {**trace, "faults": list(drafted.faults), "text": drafted.text})


def _go_without(
    turn: ClaimedTurn, context: PlanningContext, meter: Meter, failure: _Failure, early: Early
) -> _Own | None:
    """Continue without the language model's plan: by a playbook, later, with the results so far, or by an apology."""
    standing = _standing_in(turn, context) if not turn.revision else None
    if standing is not None:
        log.info("plan.stood_in", turn_id=str(turn.id), playbook=standing.source)
        used = [*failure.trace.get("prompts", ()), standing.source]
        trace = {**failure.trace, "prompts": used, "failure": reason_of(failure.error)}
        plan = standing.plan
        return _go_on(turn, context.agent, meter, plan, PlanOrigin("playbook", trace), early)
    if isinstance(early, EarlyReads):
        early.keep()
    if isinstance(failure.error, Unavailable) and postpone(turn.id, turn.attempt, failure.error):
        return None
    if turn.revision:
        respond(turn.id, turn.attempt, may_plan_again=False)
    else:
        finish(turn.id, turn.attempt, excused(turn, failure.trouble, failure.error, failure.trace), meter)
    return None


def _standing_in(turn: ClaimedTurn, context: PlanningContext) -> StandIn | None:
    """Return the playbook that can replace the language model's plan."""
    agent = context.agent
    if context.mode == "direct":
        return None
    books = tailored(turn.tenant_id, turn.conversation_id).playbooks.for_agent(agent.name, context.tools)
    return stand_in(books, {**turn.person, **shown(turn.slots, agent.slots)}, context.tools, agent.limits)


def _go_on(
    turn: ClaimedTurn, agent: AgentProfile, meter: Meter, plan: Plan, origin: PlanOrigin, early: Early | None = None
) -> _Own | None:
    """Record the plan with the steps that have started; then send the ready ones, or answer if no step is open."""
    layout = _layout(agent)
    held = early.held_by(plan) if early else HeldSteps()
    new = new_plan(turn, agent, plan, origin, held, meter.calls)
    queue = "tools.io" if layout.planner_slots else "plan"
    capacity, holder = Capacity(queue, layout.planner_slots), current_holder()
    reach("plan.drafted")
    if not (turn.revision or plan.steps or held.started) and answer_at_once(turn, new, meter):
        return None
    free = replace(capacity, take=max(0, capacity.take - held.begun.running))
    with committing(turn.id, "plan.recorded") as committed, statement() as db:
        recorded = committed(plans.record(db, turn.id, turn.attempt, new, free, holder))
    if recorded is None:
        log.warning("plan.fenced", turn_id=str(turn.id))
        return None
    meter.settle()
    if not recorded.open_steps:
        respond(turn.id, turn.attempt, recorded.material)
        return None
    facts = TurnFacts(turn.tenant_id, turn.conversation_id, turn.person, new.max_parallel is not None, turn.agent)
    executor = Executor(turn.id, facts, recorded.generation, capacity.queue, holder)
    if isinstance(early, EarlyReads):
        early.hand_over(executor)
    canvas.publish(turn.id, recorded.generation, map(load_expression, recorded.fragments), layout.slots)
    reach("plan.published")
    return _Own(executor, recorded.claimed, max(1, capacity.take), recorded.at)


def _layout(agent: AgentProfile) -> Layout:
    return layout_of(placement_of(agent), runs_tools="tools.io" in app.amqp.queues.consume_from)


def _trace(context: PlanningContext, drafted: PlanDraft) -> dict[str, Any]:
    prompts, lesson = list(drafted.prompts), context.lesson
    trace = {"agent": context.agent.source, "llm": drafted.model, "prompts": prompts, "repaired": drafted.repaired}
    return trace | ({"lesson": lesson.model_dump(mode="json")} if lesson else {})
