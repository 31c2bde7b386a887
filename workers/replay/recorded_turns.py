"""A recorded turn is found with its conversation, to be run again, or to be shown what its planner was told."""

from uuid import UUID

from turnloom.models.connections.database import snapshot
from turnloom.models.contracts.recorded import RecordedConversation, RecordedTurn
from turnloom.models.errors import Conflict, NotFound
from turnloom.models.ledger import recorded, turns
from turnloom.workers.replay.ledger_source import read_conversation

PAST = 50
"""Turns before a turn that are read for its past. A planner is told of the last 24 exchanges, and of results of the
same day, few of which are older than so many turns."""


def recorded_turn(
    tenant_id: UUID, turn_id: str, *, earlier: int | None = None
) -> tuple[RecordedConversation, RecordedTurn]:
    """Return a turn that can be run again, and its conversation.

    `earlier`: the conversation has only so many turns before it, and none after it. None: it has all its turns.

    Raises:
        NotFound: the tenant has no turn of that id.
        Conflict: it has not ended, or has no reply of an agent's own.
    """
    with snapshot(tenant_id) as db:
        row = turns.of_tenant(db, tenant_id, turn_id)
        if row.finished_at is None:
            raise Conflict(f"the turn has not ended, it is {row.status}", code="turn_not_finished")
        places = None if earlier is None else range(row.seq - earlier, row.seq + 1)
        rows = recorded.read(db, tenant_id, row.conversation_id, places)
    if rows is None:
        raise NotFound("there is no turn of that id")
    conversation = read_conversation(rows)
    return conversation, turn_of(conversation, str(row.id))


def turn_of(conversation: RecordedConversation, turn_id: str) -> RecordedTurn:
    """Return a turn that can be run again.

    Raises:
        NotFound: the conversation has no such turn.
        Conflict: the turn has no reply of an agent's own.
    """
    found = next((turn for turn in conversation.turns if turn.turn_id == turn_id), None)
    if found is None:
        raise NotFound("there is no turn of that id that has ended")
    if not found.is_replayed:
        raise Conflict(f"the turn cannot be run again: {_hindrance(found)}", code="not_replayable")
    return found


def _hindrance(turn: RecordedTurn) -> str:
    if turn.author:
        return f"{turn.author} wrote its reply"
    return f"it is {turn.record.status}" if turn.record.message else "what it said was erased"
