"""Show a conversation to a caller: its turns, its memory, its audit records. Pure: rows in, contracts out."""

from collections.abc import Sequence

from turnloom.models.contracts.listing import AuditView, ConversationView, TurnSummary
from turnloom.models.contracts.memory import MemoryView, RememberedResult
from turnloom.models.contracts.turn import Reply
from turnloom.models.ledger.usage import read_usage
from turnloom.models.tables.audit import AuditRow
from turnloom.models.tables.conversations import ConversationRow
from turnloom.models.tables.memory import MemoryRow
from turnloom.models.tables.replies import ReplyRow
from turnloom.models.tables.turns import TurnRow
from turnloom.planner.agents import Agents
from turnloom.planner.memory.slot_state import shown


def conversation_view(row: ConversationRow) -> ConversationView:
    """Return a conversation."""
    return ConversationView(
        conversation_id=row.id,
        channel=row.channel,
        agent=row.agent,
        user=row.person,
        turns=row.last_seq,
        active_turn_id=str(row.active_turn_id) if row.active_turn_id else None,
        paused_at=row.paused_at,
        paused_by=row.paused_by,
        usage=read_usage(row.usage),
        created_at=row.created_at,
        updated_at=row.updated_at,
        erased_at=row.erased_at,
    )


def turn_summary(turn: TurnRow, reply: ReplyRow | None) -> TurnSummary:
    """Return one exchange of a conversation."""
    return TurnSummary.model_validate(
        {
            "turn_id": str(turn.id),
            "seq": turn.seq,
            "agent": turn.agent,
            "status": turn.status,
            "message": turn.message,
            "reply": reply_view(reply),
            "author": turn.author,
            "created_at": turn.created_at,
            "finished_at": turn.finished_at,
        }
    )


def reply_view(reply: ReplyRow | None) -> Reply | None:
    """Return the reply of a turn, if it has one."""
    if reply is None:
        return None
    return Reply.model_validate(
        {
            "text": reply.text,
            "artifacts": reply.artifacts,
            "question": reply.question,
            "grounded": reply.grounded,
            "sources": reply.sources,
            "suggestions": reply.suggestions,
        }
    )


def memory_view(row: ConversationRow, results: Sequence[MemoryRow], agents: Agents) -> MemoryView:
    """Return what a conversation keeps. State without a slot in its agent comes from another agent, shown as stored."""
    agent = agents.profiles.get(row.agent)
    return MemoryView(
        conversation_id=row.id,
        slots={**row.slots, **(shown(row.slots, agent.slots) if agent else {})},
        results=[
            RememberedResult(
                tool=result.tool,
                args=result.args,
                result=result.result,
                turn_id=str(result.turn_id),
                step=result.step_id,
                holds=result.holds,
                at=result.at,
                expires_at=result.expires_at,
            )
            for result in results
        ],
        summary=row.summary,
    )


def audit_view(row: AuditRow) -> AuditView:
    """Return an audit record."""
    return AuditView(
        seq=row.seq,
        turn_id=str(row.turn_id) if row.turn_id else None,
        kind=row.kind,
        content=row.content,
        digest=row.digest.hex(),
        hash=row.hash.hex(),
        at=row.at,
    )
