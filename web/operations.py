"""Show operators how the deployment stands: what waits, who works, what fails.

A process reads it once for all that ask within a second or two, metrics among them.
"""

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from apiflask import APIBlueprint
from flask import Response

from turnloom.models.connections.database import transaction
from turnloom.models.connections.redis import beat_lives
from turnloom.models.contracts.operations import (
    BacklogState,
    CircuitState,
    Operations,
    QueueState,
    Recent,
    SegmentState,
    ToolErrors,
    WorkerState,
)
from turnloom.models.contracts.tool_stats import ToolStats
from turnloom.models.errors import Unavailable
from turnloom.models.ledger import backlog, conversations, dead_letters, tool_stats
from turnloom.models.ledger import operations as ledger
from turnloom.models.runtime.ids import time_of
from turnloom.models.runtime.metrics import read_counts
from turnloom.models.runtime.settings import settings
from turnloom.models.runtime.ttl_cache import TtlCache
from turnloom.models.tables.workers import WorkerRow
from turnloom.tools.guards.breaker import open_circuits
from turnloom.web import request_gate
from turnloom.web.auth import requires
from turnloom.web.json_body import json_response
from turnloom.workers.broker.queues import QUEUES
from turnloom.workers.dispatch import ALIVE, waiting_messages

_FRESH_S, _KEPT_S = 1.5, 5.0
_REFUSED = "turnloom_requests_refused_total"

blueprint = APIBlueprint("operations", __name__, url_prefix="/v1", tag="Operations")


@blueprint.get("/operations")
@requires("operations:read", reads=False)
@blueprint.output(Operations)
@blueprint.doc(operation_id="get_operations")
def show() -> Response:
    """Show queues, workers, backlog, circuits, dead letters, and how turns and tools lately went, over all tenants."""
    return json_response(operations())


def operations() -> Operations:
    """Return the state of the deployment, at most a few seconds old.

    Raises:
        Unavailable: Postgres does not answer.
    """
    found = _known.get(settings().database_url)
    assert found is not None
    return found


def circuits() -> list[CircuitState]:
    """Return the open circuits by service. Those of accounts share one name, because their names are ids."""
    left_s: defaultdict[str, list[float]] = defaultdict(list)
    for name, seconds in open_circuits().items():
        left_s["account" if _is_id(name) else name].append(seconds)
    return [CircuitState(service=name, open=len(each), left_s=min(each)) for name, each in sorted(left_s.items())]


def _look(_: str, __: Operations | None) -> Operations:
    messages = waiting_messages()
    with request_gate.readers().passed(), transaction() as db:
        now = ledger.at(db)
        rows, since = ledger.worker_rows(db), ledger.waiting_since(db)
        turns = ledger.recent_turns(db, now)
        begin = time_of(turns[-1]) if turns else now
        recent = _recent(ledger.outcome(db, turns), tool_stats.of_tools(db, begin), now - begin)
        in_work = backlog.count_by_class(db)
        paused, letters = conversations.count_paused(db), dead_letters.count_by_kind(db)
    workers = [_worker(row, steps, now) for row, steps in rows]
    return Operations(
        at=now,
        queues=[_queue(queue, messages.get(queue), since.get(queue), now, workers) for queue in QUEUES],
        workers=workers,
        beat=_beat(),
        backlog=[BacklogState(status=s, priority=p, turns=n) for (s, p), n in sorted(in_work.items())],
        backlog_limit=settings().backlog_limit,
        refused=_refused(),
        paused_conversations=paused,
        circuits=circuits(),
        dead_letters={kind: letters.get(kind, 0) for kind in ("step", "turn", "delivery", "callback")},
        recent=recent,
    )


_known: TtlCache[str, Operations] = TtlCache(_look, fresh_s=_FRESH_S, kept_s=_KEPT_S, at_most=1)


def _queue(
    queue: str, messages: int | None, since: datetime | None, now: datetime, workers: list[WorkerState]
) -> QueueState:
    slots = sum(worker.slots for worker in workers if worker.alive and queue in worker.queues)
    oldest_s = None if since is None else max((now - since).total_seconds(), 0.0)
    return QueueState(queue=queue, messages=messages, oldest_s=oldest_s, slots=slots)


def _worker(row: WorkerRow, steps: int, now: datetime) -> WorkerState:
    return WorkerState(
        name=row.name,
        queues=row.queues,
        slots=row.slots,
        steps=steps,
        started_at=row.started_at,
        beat_at=row.beat_at,
        alive=row.beat_at > now - ALIVE,
    )


def _recent(outcome: Mapping[str, Any], tools: list[ToolStats], span: timedelta) -> Recent:
    span_s = max(span.total_seconds(), 1.0)
    return Recent(
        turns=outcome["ended"],
        span_s=span_s,
        per_minute=outcome["ended"] * 60 / span_s,
        failed=outcome["failed"],
        segments=[
            SegmentState(
                segment=segment,
                turns=outcome[f"{segment}_turns"],
                p50_ms=outcome[f"{segment}_p50"],
                p95_ms=outcome[f"{segment}_p95"],
            )
            for segment in ("queue", "plan", "tools", "answer", "delivery")
            if outcome[f"{segment}_turns"]
        ],
        tools=[
            ToolErrors(tool=each.tool, calls=each.calls, failed=each.failed, errors=each.errors, p95_ms=each.p95_ms)
            for each in tools
        ],
    )


def _beat() -> bool | None:
    try:
        return beat_lives()
    except Unavailable:
        return None


def _refused() -> dict[str, int]:
    try:
        counted = read_counts()
    except Unavailable:
        return {}
    return {series[1]: int(amount) for series, amount in sorted(counted.items()) if series[0] == _REFUSED}


def _is_id(circuit: str) -> bool:
    try:
        UUID(circuit)
    except ValueError:
        return False
    return True
