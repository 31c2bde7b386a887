"""Recover: find what nobody holds, and set it going again.

The ledger knows all there is to do; the broker may have lost any of it. One process at a time looks, every second or
two: for turns that no planner has taken, planners and responders that are gone, steps whose lease has run out, and
steps that are ready and that nobody was told of. A running turn is compiled anew from what is left of it; the new
generation keeps messages of the old one from starting anything. Turns whose deadline has passed are closed.
"""

from collections.abc import Iterable
from datetime import timedelta
from uuid import UUID

from models.crash_points import reach
from models.database import Transaction, statement, transaction
from models.ledger import control, recovery, turns, workers
from models.ledger.recovery import LEASE_MS, LostTurn, OpenStep
from models.logging import log
from models.redis import announce, queue_lengths
from models.settings import settings
from planner.graph import Node, fragments
from workers import canvas
from workers.app import app
from workers.canvas import SLOTS
from workers.dispatch import ALIVE, dispatch_reply, dispatch_turn, send
from workers.planning import fragment_rows, fragment_size

MAX_ATTEMPTS = 5
"""Claims of one step, or of planning a turn, before it counts as what kills its workers."""
_BATCH = 500
_DEADLINE_GRACE = timedelta(seconds=0.5)
"""Executors end by themselves what runs at the deadline, and know how it ended: they come first."""


@app.task(name="sweep", send_events=False)
def sweep() -> None:
    """Find what nobody holds and set it going. Only one process does so at a time."""
    grace = timedelta(seconds=settings().sweep_grace_s)
    with transaction() as leading:
        if not recovery.lead(leading):
            return
        with transaction() as db:
            unsent = turns.take_unsent(db, grace, _BATCH)
            late = control.find_late(db, _DEADLINE_GRACE, _BATCH)
            lost = _find_lost(db, grace) if recovery.could_renew(db, LEASE_MS) else []
        if unsent:
            reach("turns.taken")
        for turn_id in unsent:
            dispatch_turn(turn_id)
        for turn_id in late:
            _close(turn_id)
        for turn in lost:
            _recover(turn)
    if unsent or late or lost:
        log.info("turns.recovered", unsent=len(unsent), late=len(late), lost=len(lost))


def recompile(turn_id: UUID) -> bool:
    """Take back what was lost of a running turn and send what is ready anew; False where it does not run."""
    with transaction() as db:
        reclaimed = recovery.reclaim(db, turn_id, MAX_ATTEMPTS, LEASE_MS)
        if reclaimed is None:
            return False
        running = {step.id for step in reclaimed.steps if step.is_running}
        compiled = fragments(_nodes(reclaimed.steps), fragment_size(reclaimed.placement), running)
        recovery.store_fragments(db, turn_id, reclaimed.generation, fragment_rows(compiled))
    reach("turn.reclaimed")
    announce(turn_id, reclaimed.events)
    ready = [fragment.expression for fragment in compiled if not fragment.needs]
    canvas.publish(turn_id, reclaimed.generation, ready, SLOTS[reclaimed.placement])
    if reclaimed.respond is not None:
        send("respond", turn_id, reclaimed.respond, queue="respond")
    return True


def _find_lost(db: Transaction, grace: timedelta) -> list[LostTurn]:
    busy = _busy_queues(workers.slots_by_queue(db, ALIVE))
    return recovery.find_lost(db, grace, busy, _BATCH)


def _recover(turn: LostTurn) -> None:
    if turn.kind == "steps":
        recompile(turn.id)
        return
    with statement() as db:
        if turn.kind == "plan":
            if recovery.requeue(db, turn.id):
                reach("turn.requeued")
                dispatch_turn(turn.id)
        elif turn.kind == "effect":
            told = recovery.give_up(db, turn.id)
            reach("effect.given_up")
            announce(turn.id, told)
        elif (attempt := recovery.take_over(db, turn.id, LEASE_MS)) is not None:
            reach("reply.taken_over")
            send("respond", turn.id, attempt, queue="respond")


def _close(turn_id: UUID) -> None:
    with statement() as db:
        closed = control.close(db, turn_id, "late")
    if closed is not None:
        dispatch_reply(closed)


def _nodes(steps: Iterable[OpenStep]) -> list[Node]:
    return [Node(s.id, () if s.is_running else s.needs, s.queue, s.tool, s.effect, s.inline) for s in steps]


def _busy_queues(slots: dict[str, int]) -> list[str]:
    """Return the queues that hold more than their workers can run at once: what is ready there only waits."""
    lengths = queue_lengths(slots) or {}
    return [queue for queue, length in lengths.items() if length > slots[queue]]
