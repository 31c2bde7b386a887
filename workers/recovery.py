"""Recovery finds the work that nobody holds, and restarts it.

The ledger knows all work; the broker may have lost any of it. A thread of each maintenance worker looks every two
seconds, and the thread in the leading process restarts what it finds: turns that no planner has taken, turns whose
planner or responder is gone, steps whose lease has expired, ready steps whose message was lost, and steps whose parking
is over. It is a thread because a task would come too late while a hanging language model holds all slots. A running
turn is compiled again from the steps that are left; messages of the old generation then start nothing. Turns whose
deadline has passed are closed, and approvals that nobody decided in time are rejected. Callbacks that are due wake a
worker.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from socket import gethostname
from typing import Any
from uuid import UUID

from celery.signals import worker_ready, worker_shutdown

from turnloom.models.connections.database import Transaction, statement, transaction
from turnloom.models.errors import Unavailable
from turnloom.models.ledger import approvals, callbacks, cancellation, recovery, workers
from turnloom.models.ledger.recovery import LEASE_MS, MAX_ATTEMPTS, Gone, LostTurn
from turnloom.models.runtime.crash_points import reach
from turnloom.models.runtime.daemon import Daemon
from turnloom.models.runtime.logging import log
from turnloom.models.runtime.settings import settings
from turnloom.workers.broker import canvas
from turnloom.workers.broker.app import app
from turnloom.workers.compiling import fragment_rows, node_of
from turnloom.workers.dispatch import ALIVE, dispatch_decision, dispatch_reply, dispatch_turns, queue_lengths, send
from turnloom.workers.turns.layout import layout_of
from turnloom.workers.turns.turn_events import committing

_BATCH = 500
_MOST_WAITING = 100
"""Messages on the queue `deliver` beside which no further one is sent for callbacks: it would only be one more."""
_DEADLINE_GRACE = timedelta(seconds=0.5)
"""Executors end the calls that run at the deadline themselves, and know their outcome: they come first."""


def sweep() -> None:
    """Find the work that nobody holds and restart it, if this process leads. If nothing is open, do nothing."""
    with statement() as db:
        if not (recovery.lead(db, _holder()) and recovery.is_anything_open(db)):
            return
    grace = timedelta(seconds=settings().sweep_grace_s)
    with transaction() as db:
        unsent = recovery.take_unsent(db, grace, _BATCH)
    if unsent:
        reach("turns.taken")
    dispatch_turns(unsent)
    _wake_callbacks()
    with transaction() as db:
        late = cancellation.find_late(db, _DEADLINE_GRACE, _BATCH)
        lapsed = approvals.find_lapsed(db, _BATCH)
        lost = _find_lost(db, grace) if recovery.could_renew(db, LEASE_MS) else []
    _end_waiting(late, lapsed)
    for turn in lost:
        with _apart(turn.id):
            _recover(turn)
    if unsent or late or lapsed or lost:
        log.info("turns.recovered", unsent=len(unsent), late=len(late), lapsed=len(lapsed), lost=len(lost))


@app.task(name="resume")
def resume(turn_id: str) -> None:
    """Restart a turn in which a parked step may go on."""
    recompile(UUID(turn_id), resumed=True)


@app.task(name="recover_from")
def recover_from(turn_id: str, worker: str, overran: bool) -> None:
    """Restart a turn after the process of one of its steps ended.

    `overran`: it was killed because the step took too long.
    """
    recompile(UUID(turn_id), Gone(worker, overran))


def recompile(turn_id: UUID, gone: Gone | None = None, *, resumed: bool = False) -> bool:
    """Take back the lost steps of a running turn and send the ready ones again; False if it does not run."""
    with committing(turn_id, "turn.reclaimed") as committed, transaction() as db:
        reclaimed = committed(recovery.reclaim(db, turn_id, MAX_ATTEMPTS, LEASE_MS, gone, resumed=resumed))
        if reclaimed is None:
            return False
        pinned = {step["id"] for step in reclaimed.steps if step["is_pinned"]}
        nodes = [node_of(step, () if step["is_pinned"] else step["needs"]) for step in reclaimed.steps]
        layout = layout_of(reclaimed.placement, is_capped=reclaimed.max_parallel is not None)
        compiled = layout.fragments(nodes, pinned)
        ready = recovery.store_fragments(db, turn_id, fragment_rows(compiled))
    expressions = [compiled[number].expression for number in ready]
    canvas.publish(turn_id, reclaimed.generation, expressions, layout.slots)
    if reclaimed.respond is not None:
        send("respond", turn_id, reclaimed.respond, queue="respond")
    return True


def _wake_callbacks() -> None:
    """Have due callbacks sent: those to be tried again, and those whose message or sender was lost."""
    with statement() as db:
        turn_id = callbacks.first_due(db)
    if turn_id is not None and (queue_lengths(["deliver"]) or {}).get("deliver", 0) < _MOST_WAITING:
        send("call_back", turn_id, queue="deliver")


def _find_lost(db: Transaction, grace: timedelta) -> list[LostTurn]:
    busy = _busy_queues(workers.slots_by_queue(db, ALIVE))
    return recovery.find_lost(db, grace, busy, _BATCH)


def _recover(turn: LostTurn) -> None:
    if turn.kind == "steps":
        recompile(turn.id)
    elif turn.kind == "effect":
        with committing(turn.id, "effect.given_up") as committed, statement() as db:
            committed(recovery.give_up(db, turn.id))
    elif turn.kind == "plan":
        with committing(turn.id, "turn.requeued") as committed, statement() as db:
            is_queued = committed(recovery.requeue(db, turn.id))
        if is_queued:
            dispatch_turns([turn.id])
    else:
        with committing(turn.id, "reply.taken_over") as committed, statement() as db:
            attempt = committed(recovery.take_over(db, turn.id, LEASE_MS))
        if attempt is not None:
            send("respond", turn.id, attempt, queue="respond")


def _end_waiting(late: Iterable[UUID], lapsed: Iterable[tuple[UUID, str]]) -> None:
    for turn_id in late:
        with _apart(turn_id):
            with statement() as db:
                closed = cancellation.close(db, turn_id, "late")
            if closed is not None:
                dispatch_reply(closed)
    for turn_id, step_id in lapsed:
        with _apart(turn_id):
            with statement() as db:
                rejected = approvals.lapse(db, turn_id, step_id)
            if rejected is not None:
                dispatch_decision(rejected)


def _holder() -> str:
    return f"{gethostname()}/{os.getpid()}"


@contextmanager
def _apart(turn_id: UUID) -> Iterator[None]:
    """Keep a failure with one turn from stopping the others; the next sweep finds the turn again.

    Raises:
        Unavailable: Postgres does not answer, or this process was frozen for so long that another one leads.
    """
    with statement() as db:
        is_leader = recovery.lead(db, _holder())
    if not is_leader:
        raise Unavailable("another process leads recovery now", code="leads_no_longer")
    try:
        yield
    except Exception:  # noqa: BLE001 - whatever it is, the other turns must not wait
        log.exception("turn.not_recovered", turn_id=str(turn_id))


def _busy_queues(slots: dict[str, int]) -> list[str]:
    """Return the queues that hold more tasks than their workers can run at once: ready steps there are only waiting."""
    lengths = queue_lengths(slots) or {}
    return [queue for queue, length in lengths.items() if length > slots[queue]]


_sweeping: list[Daemon] = []


@worker_ready.connect
def _start(sender: Any, **_: Any) -> None:
    if "maintenance" in sender.app.amqp.queues.consume_from:
        _sweeping.append(Daemon("sweep", sweep, every_s=settings().sweep_interval_s).start())


@worker_shutdown.connect
def _stop(**_: Any) -> None:
    for daemon in _sweeping:
        daemon.ask_to_stop()
