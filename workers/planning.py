"""Plan: claim a queued turn, draft a plan or take the caller's, record it, send it on its way."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, cast
from uuid import UUID
from zoneinfo import ZoneInfo

from celery import Task
from celery.exceptions import Ignore
from celery.signals import worker_init

from models.contracts.plan import Plan, implied_inputs, implied_needs
from models.contracts.turn import Mode, Reply, Usage
from models.crash_points import reach
from models.database import statement, transaction
from models.errors import InvalidPlan, NotFound, TurnloomError, Unavailable
from models.ledger import events, plans, turns
from models.ledger.plans import NewPlan
from models.ledger.recovery import LEASE_MS
from models.ledger.steps import ClaimedLane, TurnFacts
from models.ledger.turns import ClaimedTurn, Ending
from models.logging import log
from models.redis import announce
from models.settings import settings
from planner.agents import AgentProfile
from planner.context import Exchange, PlanningContext
from planner.drafting import Draft, draft
from planner.graph import Fragment, Node, dump_expression, fragments
from planner.policy import Trouble, apology
from planner.validation import validate
from tools.registry import Registry
from workers import canvas
from workers.app import app
from workers.canvas import SLOTS
from workers.execution import Executor, holder_of
from workers.heartbeat import leases
from workers.parts import agents, llm, registry, warm_up
from workers.responding import Deltas, broken, finish, respond

_MAX_ATTEMPTS = 5
"""Claims of a turn before its planning counts as what kills the planners."""
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
    inline: list[Fragment] = []
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
    if inline:
        facts = TurnFacts(turn.tenant_id, turn.conversation_id, turn.person)
        lanes = [ClaimedLane(list(fragment.steps), None) for fragment in inline]
        Executor(turn.id, facts, 1, "plan", holder_of(self)).run(lanes, slots=1)


def compile_plan(plan: Plan, tools: Registry, max_steps: int) -> tuple[list[dict[str, Any]], list[Fragment]]:
    """Return the columns of a plan's steps, and its fragments."""
    rows: list[dict[str, Any]] = []
    for position, step in enumerate(plan.steps):
        tool = tools.get(step.tool)
        rows.append(
            {
                "id": step.id,
                "position": position,
                "tool": step.tool,
                "args": step.args,
                "needs": implied_needs(step),
                "inputs": implied_inputs(step),
                "effect": tool.effect,
                "queue": tool.queue,
                "inline": tool.inline,
                "critical": step.critical,
                "run_if": step.run_if,
                "fallbacks": [fallback.model_dump() for fallback in step.fallbacks],
                "on_need_error": step.on_need_error,
                "timeout_ms": step.timeout_ms or round(tool.timeout_s * 1000),
            }
        )
    nodes = [
        Node(row["id"], tuple(row["needs"]), row["queue"], row["tool"], row["effect"], row["inline"]) for row in rows
    ]
    return rows, fragments(nodes, max_steps)


def fragment_size(placement: str) -> int:
    """Return how many steps a fragment may hold: `dense` has no canvas, only ledger joins."""
    return settings().canvas_max_steps if placement == "spread" else 1


def fragment_rows(compiled: Iterable[Fragment]) -> list[dict[str, Any]]:
    """Return the columns of fragments."""
    return [
        {
            "number": number,
            "needs": fragment.needs,
            "steps": fragment.steps,
            "queue": fragment.queue,
            "inline": fragment.inline,
            "expression": dump_expression(fragment.expression),
        }
        for number, fragment in enumerate(compiled)
    ]


def _plan(turn: ClaimedTurn) -> list[Fragment]:
    """Plan a turn and send what is ready; return the inline fragments among it, which are run here."""
    if turn.attempt > _MAX_ATTEMPTS:
        _apologise(turn, "internal_error", TurnloomError(f"the planner was lost in each of {_MAX_ATTEMPTS} attempts"))
        return []
    agent = agents().get(turn.agent)
    tools = registry().allowed(agent.tools)
    if turn.submitted_plan is not None:
        return _go_on(turn, validate(turn.submitted_plan, tools, agent.limits), agent, None)
    drafted = _draft(turn, agent, tools)
    if drafted is None or drafted.plan is None:
        return []
    return _go_on(turn, drafted.plan, agent, drafted)


def _draft(turn: ClaimedTurn, agent: AgentProfile, tools: Registry) -> Draft | None:
    """Let the language model draft. Where no plan comes of it, the turn ends here with a word that says so."""
    context, deltas = _context(turn, agent, tools), Deltas(turn.id, turn.events[-1].seq)
    try:
        drafted = draft(context, llm(), on_step=lambda step: _note_step(turn, step), on_delta=deltas)
    except Unavailable as error:
        log.warning("plan.failed", turn_id=str(turn.id), error=error.code)
        _apologise(turn, "llm_unavailable", error)
        return None
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


def _go_on(turn: ClaimedTurn, plan: Plan, agent: AgentProfile, drafted: Draft | None) -> list[Fragment]:
    """Record the plan, then send what is ready but for inline steps; or answer at once, where no tool is needed."""
    placement = agent.placement or settings().placement
    rows, compiled = compile_plan(plan, registry(), fragment_size(placement))
    new = NewPlan(
        plan=plan,
        source="llm" if drafted else "caller",
        trace=_trace(drafted) if drafted else {},
        steps=rows,
        fragments=fragment_rows(compiled),
        placement=placement,
        usage=drafted.usage if drafted else _NOTHING,
    )
    reach("plan.drafted")
    with statement() as db:
        recorded = plans.record(db, turn.id, turn.attempt, new)
    if recorded is None:
        log.warning("plan.fenced", turn_id=str(turn.id))
        return []
    reach("plan.recorded")
    announce(turn.id, recorded)
    if plan.steps:
        ready = [fragment for fragment in compiled if not fragment.needs]
        canvas.publish(turn.id, 1, [each.expression for each in ready if not each.inline], SLOTS[placement])
        reach("plan.published")
        return [each for each in ready if each.inline]
    if plan.reply:
        ending = Ending("succeeded", Reply(text=plan.reply), {"written_by": "planner"}, new.usage)
        finish(turn.id, turn.attempt, ending)
    else:
        respond(turn.id, turn.attempt)
    return []


def _apologise(turn: ClaimedTurn, trouble: Trouble, error: TurnloomError) -> None:
    reason = {"code": error.code, "message": str(error)}
    ending = Ending("failed", apology(trouble), {"written_by": "apology"}, _NOTHING, error=reason)
    finish(turn.id, turn.attempt, ending)


def _note_step(turn: ClaimedTurn, step: dict[str, Any]) -> None:
    try:
        with statement() as db:
            noted = events.note(db, turn.id, "plan.step", {"step": step.get("id"), "tool": step.get("tool")})
        announce(turn.id, noted)
    except Unavailable as error:
        log.warning("step.unannounced", turn_id=str(turn.id), error=error.code)


def _trace(drafted: Draft) -> dict[str, Any]:
    return {"llm": drafted.model, "prompts": list(drafted.prompts), "repaired": drafted.repaired}
