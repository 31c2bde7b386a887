"""A conversation's memory is its last exchanges, a summary, and results of its earlier turns."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from turnloom.models.contracts.memory import Exchange, RecalledResult
from turnloom.models.contracts.usage import Allowance
from turnloom.models.ledger.transitions import call
from turnloom.models.ledger.usage import read_allowances
from turnloom.models.tables.memory import MemoryRow


@dataclass(frozen=True)
class Recalled:
    """The conversation so far, as the planner of a turn gets it."""

    summary: str | None
    history: list[Exchange]
    """The last exchanges that the summary does not cover, oldest first."""
    asked: list[dict[str, Any]]
    """`{tool, args, needs}` of the calls for which the previous turn asked the user something."""
    memory: list[RecalledResult]
    """Results of earlier turns that have not expired, newest first."""


@dataclass(frozen=True)
class Unsummarised:
    """The oldest exchanges of a conversation that its summary does not cover."""

    tenant_id: UUID
    conversation_id: str
    agent: str
    """The agent of the turn that the caller named."""
    allowances: list[Allowance]
    """The limits of the tenant's budget on language-model calls."""
    summary: str | None
    summary_seq: int
    """The last turn that the summary covers."""
    history: list[dict[str, Any]]
    """`{seq, message, reply, seen, author}`, oldest first."""


def read_recalled(found: dict[str, Any]) -> Recalled:
    """Read the result of `hot.recall`."""
    return Recalled(
        summary=found["summary"],
        history=[Exchange(**exchange) for exchange in found["history"]],
        asked=found["asked"],
        memory=[RecalledResult(**result) for result in found["memory"]],
    )


def find(db: psycopg.Connection, tenant_id: UUID, conversation_id: str, tool: str, input_hash: str) -> Any:
    """Return the result of the same call earlier in the conversation. None: there is none, or it has expired."""
    row = db.execute(
        "SELECT result FROM memory WHERE tenant_id = %s AND conversation_id = %s AND tool = %s AND input_hash = %s"
        " AND holds AND expires_at > clock_timestamp()",
        (tenant_id, conversation_id, tool, input_hash),
        prepare=True,
    ).fetchone()
    return row[0] if row else None


def of_conversation(db: Session, tenant_id: UUID, conversation_id: str) -> list[MemoryRow]:
    """Return the results that a conversation remembers, newest first."""
    query = select(MemoryRow).where(
        MemoryRow.tenant_id == tenant_id,
        MemoryRow.conversation_id == conversation_id,
        MemoryRow.expires_at > func.clock_timestamp(),
    )
    return list(db.scalars(query.order_by(MemoryRow.at.desc(), MemoryRow.tool, MemoryRow.input_hash)))


def unsummarised(db: psycopg.Connection, turn_id: UUID, most: int) -> Unsummarised | None:
    """Return the exchanges that a conversation's summary lacks, up to its first turn that is not final."""
    found = call(db, "unsummarised", turn=turn_id, most=most)
    if found is None:
        return None
    read = {"tenant_id": UUID(found["tenant_id"]), "allowances": read_allowances(found["allowances"])}
    return Unsummarised(**{**found, **read})


def summarise(db: psycopg.Connection, of: Unsummarised, summary: str, seq: int) -> bool:
    """Store a summary up to a turn. False: another one was stored meanwhile, or the conversation was erased."""
    kept = db.execute(
        "UPDATE conversations SET summary = %s, summary_seq = %s WHERE tenant_id = %s AND id = %s AND summary_seq = %s",
        (summary, seq, of.tenant_id, of.conversation_id, of.summary_seq),
    )
    return kept.rowcount == 1
