"""Answer for the turn of a message, wait for its end, and read it."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import TypeVar
from uuid import UUID

from turnloom.models.connections.database import statement, transaction
from turnloom.models.contracts.turn import FINAL_TURN_STATUSES, Links, TurnAccepted, TurnView
from turnloom.models.errors import Conflict, Unavailable
from turnloom.models.ledger import turn_snapshots, turns
from turnloom.models.ledger.turn_snapshots import TurnSnapshot
from turnloom.models.ledger.turns import NewTurn, OpenedTurn
from turnloom.models.runtime.logging import log
from turnloom.web import backlog
from turnloom.web.auth import caller
from turnloom.web.catalogue import catalogue
from turnloom.web.event_hub import hub
from turnloom.web.ingest import hand_on
from turnloom.web.shared_reads import no_turn, read, turn_id_of
from turnloom.workers.turns.turn_view import turn_view

R = TypeVar("R")


def of_ones_own(view: Callable[..., R]) -> Callable[..., R]:
    """Look for the turn before reading the body, so that a stranger's body makes no difference."""

    @wraps(view)
    def found(turn_id: str, **inputs: object) -> R:
        with transaction(caller().tenant_id) as db:
            turns.of_tenant(db, caller().tenant_id, turn_id)
        return view(turn_id, **inputs)

    return found


def answer_for(new: NewTurn, opened: OpenedTurn, full: str | None) -> TurnAccepted:
    """Return the answer to a message, which is the same each time the message comes.

    `full`: as in `backlog.Asked`. If that has room and the outcome is `full`, its user has none.

    Raises:
        Conflict: the message's id came before with another body, or the conversation is busy and it may not wait.
        Unavailable: the backlog is full.
    """
    if opened.outcome == "full":
        limit = full or f"the user's limit user_backlog ({new.user_backlog})"
        message = f"too many turns are in work already: {limit} is reached; send the message again later"
        raise Unavailable(message, code="overloaded", retry_after_s=backlog.RETRY_AFTER_S)
    if opened.outcome == "busy":
        raise Conflict(f"conversation {new.conversation_id!r} is busy with another turn", code="busy")
    if opened.outcome == "mismatched":
        message = f"the message id {new.request.message_id!r} came before with another body"
        raise Conflict(message, code="message_id_reused")
    assert opened.turn_id is not None
    assert opened.seq is not None
    address = f"/v1/turns/{opened.turn_id}"
    return TurnAccepted(
        turn_id=str(opened.turn_id),
        conversation_id=opened.conversation_id,
        seq=opened.seq,
        status="queued",
        links=Links(self=address, events=f"{address}/events"),
    )


def finished(answer: TurnAccepted, opened: OpenedTurn, within_s: float) -> TurnView | None:
    """Hand a turn on and wait for its end. None if it did not end in time, or cannot be read now."""
    deadline = time.monotonic() + within_s
    # A reader that listens before the turn is handed on misses nothing of it.
    with hub().follow(answer.turn_id, math.inf) as reader:
        hand_on(opened)
        may_be_final = opened.outcome == "repeated"
        while may_be_final or reader.wait_for_end(deadline):
            may_be_final = False
            try:
                view = shown(answer.turn_id)
            except Unavailable as error:
                log.warning("wait.broken_off", turn_id=answer.turn_id, error=error.code)
                return None
            if view.status in FINAL_TURN_STATUSES:
                return view
    return None


def shown(turn_id: str) -> TurnView:
    """Return a turn of the caller's tenant as it stands.

    Raises:
        NotFound: the tenant has no such turn.
        Unavailable: Postgres does not answer, or too many are waiting.
    """
    return turn_view(snapshot_of(turn_id), catalogue().agents)


def snapshot_of(turn_id: str) -> TurnSnapshot:
    """Return a turn of the caller's tenant as the ledger has it. Raises what `shown` raises."""
    found = read(snapshots, (caller().tenant_id, turn_id_of(turn_id)))
    if found is None:
        raise no_turn()
    return found


def snapshots(asked: Sequence[tuple[UUID, UUID]]) -> Mapping[tuple[UUID, UUID], TurnSnapshot]:
    """Return turns of tenants as the ledger has them, by tenant and turn: for `read`."""
    with statement({tenant_id for tenant_id, _ in asked}) as db:
        found = turn_snapshots.read(db, [turn_id for _, turn_id in asked])
    return {(turn.tenant_id, turn.id): turn for turn in found.values()}
