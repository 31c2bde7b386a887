"""Plan: claim a queued turn, draft a plan or take the caller's, record it, send it on its way."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast
from uuid import UUID
from zoneinfo import ZoneInfo

from celery import Task
from celery.exceptions import Ignore
from celery.signals import worker_init

from models.contracts.plan import Plan
from models.contracts.turn import Mode, Reply, Usage
from models.crash_points import reach
from models.database import statement, transaction
from models.errors import InvalidPlan, NotFound, TurnloomError, Unavailable
from models.ledger import plans, turns
from models.ledger.plans import NewPlan
from models.ledger.recovery import LEASE_MS, MAX_ATTEMPTS
from models.ledger.steps import ClaimedLane, TurnFacts
from models.ledger.turns import ClaimedTurn, Ending
from models.logging import log
from models.redis import announce
from models.settings import Placement, settings
from planner.agents import AgentProfile
from planner.context import Exchange, PlanningContext
from planner.drafting import Draft, draft
from planner.graph import Fragment
from planner.policy import Trouble, apology
from planner.validation import validate
from tools.registry import Registry
from workers import canvas
from workers.app import app
from workers.canvas import SLOTS
from workers.compiling import compile_plan, fragment_rows
from workers.execution import Executor, holder_of
from workers.heartbeat import leases
from workers.parts import agents, llm, registry, warm_up
from workers.responding import Deltas, broken, finish, respond
from workers.streaming import EarlySteps

_PLANNING_S = 120.0
"""Time for a draft, its repair and their retries."""
_HISTORY = 20
"""Earlier turns that the planner is shown, at most."""
_NOTHING = Usage(cost=0.0)


@worker_init.connect
def _warm_up(**_: Any) -> None:
    warm_up()


@app.task(name="plan_turn", bind=True)
def plan_turn(self: "Task[Any, Any]", turn_id: str) -> None:
    """Plan a turn. A copy of the message that comes too late or too early is ignored."""
    with statement() as db:
        turn = turns.claim(db, UUID(turn_id), LEASE_MS)
    if turn is None:
        raise Ignore
    reach("turn.claimed")
    announce(turn.id, turn.events)
    inline = _NO_INLINE
    try:
        with leases.holding_turn(turn.id, turn.attempt):
            inline = _plan(turn)
    except Unavailable:
        raise  # Postgres is out: nothing can be recorded now, and the lease brings the turn back
    except (InvalidPlan, NotFound) as error:
        log.warning("plan.refused", turn_id=turn_id, error=error.code)
        _apologise(turn, "invalid_plan", error)
    except Exception as error:  # noqa: BLE001 - whatever goes wrong here, the user gets a word
        log.exception("plan.broken", turn_id=turn_id)
        finish(turn.id, turn.attempt, broken(error, turn_id, _NOTHING))
    if inline.fragments:
        facts = TurnFacts(turn.tenant_id, turn.conversation_id, turn.person, inline.is_capped)
        lanes = [ClaimedLane(list(fragment.steps), None) for fragment in inline.fragments]
        Executor(turn.id, facts, inline.generation, "plan", holder_of(self)).run(lanes, slots=1)


@dataclass(frozen=True)
class _Inline:
    """The inline fragments of a recorded plan that are ready: the planner runs them itself."""

    generation: int
    fragments: list[Fragment]
    is_capped: bool


_NO_INLINE = _Inline(0, [], is_capped=False)


def _plan(turn: ClaimedTurn) -> _Inline:
    """Plan a turn and send what is ready."""
    if turn.attempt > MAX_ATTEMPTS:
        _apologise(turn, "internal_error", TurnloomError(f"the planner was lost in each of {MAX_ATTEMPTS} attempts"))
        return _NO_INLINE
    agent = agents().get(turn.agent)
    tools = registry().allowed(agent.tools)
    if turn.submitted_plan is not None:
        return _go_on(turn, agent, validate(turn.submitted_plan, tools, agent.limits))
    early = EarlySteps(turn, tools, SLOTS[_placement(agent)], agent.max_parallel)
    drafted = _draft(turn, _context(turn, agent, tools), early)
    if drafted is None or drafted.plan is None:
        return _NO_INLINE
    return _go_on(turn, agent, drafted.plan, drafted, early.held_by(drafted.plan))


def _draft(turn: ClaimedTurn, context: PlanningContext, early: EarlySteps) -> Draft | None:
    """Let the language model draft. Where no plan comes of it, the turn ends here with a word that says so."""
    deltas = Deltas(turn.id, turn.events[-1].seq)
    try:
        drafted = draft(context, llm(), on_step=early.take, on_refused=early.refuse, on_delta=deltas)
    except Unavailable as error:
        log.warning("plan.failed", turn_id=str(turn.id), error=error.code)
        deltas.settle()
        _apologise(turn, "llm_unavailable", error)
        return None
    deltas.settle()
    if drafted.plan is None:
        log.warning("plan.refused", turn_id=str(turn.id), faults=[fault["code"] for fault in drafted.faults])
        trace = {"written_by": "apology", **_trace(drafted), "faults": list(drafted.faults), "text": drafted.text}
        reason = {"code": "invalid_plan", "message": "; ".join(fault["message"] for fault in drafted.faults)[:2_000]}
        finish(turn.id, turn.attempt, Ending("failed", apology("invalid_plan"), trace, drafted.usage, error=reason))
    return drafted


def _context(turn: ClaimedTurn, agent: AgentProfile, tools: Registry) -> PlanningContext:
    with transaction() as db:
        past = turns.history(db, turn, _HISTORY)
    mode = cast("Mode", turn.mode or agent.mode)
    now = datetime.now(ZoneInfo(turn.person.get("timezone") or "UTC"))
    return PlanningContext(
        agent=agent,
        tools=tools,
        message=turn.message,
        mode=mode,
        now=now,
        timeout_s=min(turn.left_ms / 1000, _PLANNING_S),
        user=turn.person,
        history=[Exchange(message, reply) for message, reply in past],
    )


def _go_on(
    turn: ClaimedTurn, agent: AgentProfile, plan: Plan, drafted: Draft | None = None, early: Sequence[Fragment] = ()
) -> _Inline:
    """Record the plan over what has started; then send what is ready, or answer where no step is open."""
    placement = _placement(agent)
    started = frozenset(step for fragment in early for step in fragment.steps)
    compiled = compile_plan(plan, registry(), placement, agent.max_parallel, started)
    new = NewPlan(
        plan=plan,
        source="llm" if drafted else "caller",
        trace=_trace(drafted) if drafted else {},
        steps=compiled.steps,
        fragments=fragment_rows(compiled.fragments, len(early)),
        placement=placement,
        max_parallel=compiled.max_parallel,
        usage=drafted.usage if drafted else _NOTHING,
    )
    reach("plan.drafted")
    with statement() as db:
        recorded = plans.record(db, turn.id, turn.attempt, new)
    if recorded is None:
        log.warning("plan.fenced", turn_id=str(turn.id))
        return _NO_INLINE
    reach("plan.recorded")
    announce(turn.id, recorded.events)
    if recorded.open_steps:
        sent = [*early, *compiled.fragments]
        ready = [sent[number] for number in recorded.ready]
        expressions = [fragment.expression for fragment in ready if not fragment.inline]
        canvas.publish(turn.id, recorded.generation, expressions, SLOTS[placement])
        reach("plan.published")
        inline = [fragment for fragment in ready if fragment.inline]
        return _Inline(recorded.generation, inline, compiled.max_parallel is not None)
    if plan.reply and not plan.steps:
        ending = Ending("succeeded", Reply(text=plan.reply), {"written_by": "planner"}, new.usage)
        finish(turn.id, turn.attempt, ending)
    else:
        respond(turn.id, turn.attempt)
    return _NO_INLINE


def _placement(agent: AgentProfile) -> Placement:
    return agent.placement or settings().placement


def _apologise(turn: ClaimedTurn, trouble: Trouble, error: TurnloomError) -> None:
    reason = {"code": error.code, "message": str(error)}
    ending = Ending("failed", apology(trouble), {"written_by": "apology"}, _NOTHING, error=reason)
    finish(turn.id, turn.attempt, ending)


def _trace(drafted: Draft) -> dict[str, Any]:
    return {"llm": drafted.model, "prompts": list(drafted.prompts), "repaired": drafted.repaired}
