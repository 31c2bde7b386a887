"""A recorded turn is found with its conversation, to be run again, or to be shown what its planner was told."""

from uuid import UUID

from turnloom.models.connections.database import snapshot
from turnloom.models.contracts.recorded import RecordedConversation, RecordedTurn
from turnloom.models.errors import Conflict, NotFound
from turnloom.models.ledger import recorded, turns
from turnloom.workers.replay.ledger_source import read_conversation


def conversation_of(tenant_id: UUID, turn_id: str) -> RecordedConversation:
    """Return the recorded conversation of a turn.

    Raises:
        NotFound: the tenant has no turn of that id.
        Conflict: it has not ended.
    """
    with snapshot(tenant_id) as db:
        turn = turns.of_tenant(db, tenant_id, turn_id)
        if turn.finished_at is None:
            raise Conflict(f"the turn has not ended, it is {turn.status}", code="not_finished")
        rows = recorded.read(db, tenant_id, turn.conversation_id)
        if rows is None:
            raise NotFound("there is no turn of that id")
        return read_conversation(rows)


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
