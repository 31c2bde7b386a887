"""Show a turn to a caller, over HTTP or by a callback. Pure: a snapshot of the turn in, contracts out."""

from datetime import datetime

from turnloom.models.contracts.plan import FINAL_STEP_STATUSES
from turnloom.models.contracts.turn import StepView, Timings, TurnView
from turnloom.models.ledger.approvals import read_approval
from turnloom.models.ledger.turn_snapshots import StepSnapshot, TurnSnapshot
from turnloom.models.ledger.usage import read_usage
from turnloom.models.tables.steps import StepRow
from turnloom.planner.agents import Agents
from turnloom.planner.plan.graph import critical_path


def turn_view(turn: TurnSnapshot, agents: Agents) -> TurnView:
    """Return everything that a caller may know about a turn."""
    agent = agents.profiles.get(turn.agent)
    ran = sorted((step for step in turn.steps if step.started_at), key=lambda step: (step.started_at, step.position))
    return TurnView.model_validate(
        {
            "turn_id": str(turn.id),
            "conversation_id": turn.conversation_id,
            "seq": turn.seq,
            "agent": turn.agent,
            "mode": turn.mode or (agent.mode if agent else "auto"),
            "priority": turn.priority,
            "status": turn.status,
            "superseded_by": str(turn.superseded_by) if turn.superseded_by else None,
            "action": turn.action,
            "plans": turn.plans,
            "steps": [_step_view(step, status) for step, status in _with_status(turn)],
            "executed_order": [step.id for step in ran],
            "output": turn.output,
            "synthesis_hint": turn.synthesis_hint,
            "reply": turn.reply,
            "author": turn.author,
            "usage": read_usage(turn.usage),
            "timings": _timings(turn),
            "error": turn.error,
            "metadata": turn.extra,
            "channel": turn.channel.partition(":")[0],
            "account": turn.channel.partition(":")[2] or None,
            "deliveries": turn.deliveries,
            "created_at": turn.created_at,
            "trace_id": turn.id.hex,
        }
    )


def step_cache(step: StepRow | StepSnapshot) -> str | None:
    """Return what made a step's call unnecessary: another step of its plan, or the cache recorded with the step."""
    return "plan" if step.copy_of and step.status == "succeeded" else step.cache


def _with_status(turn: TurnSnapshot) -> list[tuple[StepSnapshot, str]]:
    """Pair each step with its status: `queued` if it waits for a worker, `pending` if for other steps or its time.

    A worker may hold a pending step already, and begin it when the others have ended.
    """
    steps = turn.steps
    final = {step.id for step in steps if step.status in FINAL_STEP_STATUSES}
    waiting = "pending" if turn.status in ("planning", "running") else None
    # Among waiting steps, only those that will be retried later have an error.
    ready = {step.id for step in steps if step.status == waiting and not step.error and final.issuperset(step.needs)}
    held = {step.id for step in steps if step.status == "running" and not step.started_at}
    return [(step, "queued" if step.id in ready else "pending" if step.id in held else step.status) for step in steps]


def _step_view(step: StepSnapshot, status: str) -> StepView:
    return StepView.model_validate(
        {
            "id": step.id,
            "tool": step.tool,
            "args": step.approval["args"] if step.approval else step.args,
            "needs": [need for need in step.needs if need != step.copy_of],
            "effect": step.effect,
            "status": status,
            "attempt": step.attempt,
            "worker": step.worker,
            "cache": step_cache(step),
            "queued_at": step.ready_at,
            "started_at": step.started_at,
            "finished_at": step.finished_at,
            "duration_ms": _between(step.started_at, step.finished_at),
            "queue_ms": _between(step.ready_at, step.started_at),
            "result": step.result,
            "error": step.error,
            "approval": read_approval(step.approval),
        }
    )


def _timings(turn: TurnSnapshot) -> Timings:
    durations = {step.id: _between(step.started_at, step.finished_at) or 0.0 for step in turn.steps}
    started = min((step.started_at for step in turn.steps if step.started_at), default=None)
    ended = max((step.finished_at for step in turn.steps if step.started_at and step.finished_at), default=None)
    path = critical_path({step.id: step.needs for step in turn.steps}, durations) if started else None
    return Timings(
        queued_ms=_between(turn.created_at, turn.begun_at),
        planning_ms=round(turn.planning_ms, 3) if turn.planned_at else None,
        tools_ms=_between(started, ended),
        responding_ms=_between(turn.responding_at, turn.finished_at),
        total_ms=_between(turn.created_at, turn.finished_at),
        critical_path_ms=None if path is None else round(path, 3),
    )


def _between(start: datetime | None, end: datetime | None) -> float | None:
    return None if start is None or end is None else round((end - start).total_seconds() * 1000, 3)
