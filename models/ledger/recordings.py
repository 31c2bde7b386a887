"""Recordings are written with the calls that they belong to, read for traces and replays, and pruned by age."""

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

import orjson
from sqlalchemy import select, true
from sqlalchemy.orm import Session

from turnloom.models.contracts.recording import PackedText, RecordedCall, Recording, SentMessage
from turnloom.models.ledger.transitions import call
from turnloom.models.runtime.packed_text import unpack
from turnloom.models.tables.conversations import ConversationRow
from turnloom.models.tables.recordings import RecordedCallRow, RecordedTextRow
from turnloom.models.tables.tenants import TenantRow
from turnloom.models.tables.turns import TurnRow
from turnloom.models.tables.usage import LlmCallRow

_SHARED = ""
"""The conversation of texts that conversations share."""


def write_recording(recording: Recording, written: set[UUID]) -> dict[str, Any]:
    """Return a recording in the form that the ledger's functions take, with the texts that are not yet `written`."""
    parts = (recording.rules, recording.schema)
    shared = [text for text in parts if text is not None]
    own = [*recording.messages, *([recording.answer] if recording.answer else [])]
    return {
        "rules": _digest(recording.rules),
        "schema": _digest(recording.schema),
        "messages": [text.digest for text in recording.messages],
        "answer": _digest(recording.answer),
        "parameters": recording.parameters,
        "now": recording.now,
        "error": recording.error,
        "texts": [*_new_texts(shared, written, is_shared=True), *_new_texts(own, written, is_shared=False)],
    }


def recorded_calls(db: Session, turn_id: UUID) -> list[RecordedCall]:
    """Return the calls for a turn whose texts are recorded, in the order in which they were recorded.

    A call that was made again, because its answer had faults, is followed by the other one. Read them in a snapshot:
    somebody may be removing them.
    """
    same_call = (
        (RecordedCallRow.tenant_id == LlmCallRow.tenant_id)
        & (RecordedCallRow.turn_id == LlmCallRow.turn_id)
        & (RecordedCallRow.seq == LlmCallRow.seq)
    )
    query = select(LlmCallRow, RecordedCallRow).join(RecordedCallRow, same_call).order_by(LlmCallRow.seq)
    tenant_id, conversation_id = _origin(db, turn_id)
    rows = db.execute(query.where(LlmCallRow.tenant_id == tenant_id, LlmCallRow.turn_id == turn_id)).all()
    texts = _texts(db, tenant_id, conversation_id, {digest for _, kept in rows for digest in _digests(kept)})
    return [_read(made, kept, texts) for made, kept in rows]


def aged(db: Session, before: UUID, limit: int) -> list[tuple[UUID, str]]:
    """Return tenants and conversations with recordings of turns whose id is lower than `before`."""
    old = (
        select(RecordedCallRow.turn_id)
        .where(RecordedCallRow.tenant_id == TenantRow.id, RecordedCallRow.turn_id < before)
        .lateral()
    )
    query = select(TurnRow.tenant_id, TurnRow.conversation_id).distinct().select_from(TenantRow)
    query = query.join(old, true()).join(TurnRow, (TurnRow.id == old.c.turn_id) & (TurnRow.tenant_id == TenantRow.id))
    return [(row.tenant_id, row.conversation_id) for row in db.execute(query.limit(limit))]


def prune(db: Session, tenant_id: UUID, conversation_id: str, before: UUID) -> int:
    """Remove the recordings of a conversation's turns whose id is lower; return how many calls.

    A conversation that has a turn in work, or that somebody else has in hand, keeps them until the next time.
    """
    query = select(ConversationRow.id).where(
        ConversationRow.tenant_id == tenant_id,
        ConversationRow.id == conversation_id,
        ConversationRow.active_turn_id.is_(None),
    )
    if db.scalar(query.with_for_update(skip_locked=True)) is None:
        return 0
    removed: int = call(db, "forget_recordings", tenant=tenant_id, conversation=conversation_id, before=before)
    return removed


def _digest(text: PackedText | None) -> UUID | None:
    return text.digest if text else None


def _new_texts(texts: Iterable[PackedText], written: set[UUID], *, is_shared: bool) -> list[dict[str, Any]]:
    fresh = {text.digest: text for text in texts if text.digest not in written}
    written |= fresh.keys()
    return [
        {"digest": text.digest, "role": text.role, "data": f"\\x{text.data}", "is_shared": is_shared}
        for text in fresh.values()
    ]


def _origin(db: Session, turn_id: UUID) -> tuple[UUID, str]:
    row = db.execute(select(TurnRow.tenant_id, TurnRow.conversation_id).where(TurnRow.id == turn_id)).one()
    return row.tenant_id, row.conversation_id


def _digests(kept: RecordedCallRow) -> list[UUID]:
    return [digest for digest in (kept.rules, kept.schema, *kept.messages, kept.answer) if digest]


def _texts(db: Session, tenant_id: UUID, conversation_id: str, digests: set[UUID]) -> dict[UUID, SentMessage]:
    query = select(RecordedTextRow).where(
        RecordedTextRow.tenant_id == tenant_id,
        RecordedTextRow.conversation_id.in_((_SHARED, conversation_id)),
        RecordedTextRow.digest.in_(digests),
    )
    return {row.digest: SentMessage(role=row.role, content=unpack(row.data)) for row in db.scalars(query)}


def _read(made: LlmCallRow, kept: RecordedCallRow, texts: Mapping[UUID, SentMessage]) -> RecordedCall:
    first = [] if kept.rules is None else [kept.rules]
    return RecordedCall(
        seq=made.seq,
        purpose=made.purpose,
        model=made.model,
        parameters=kept.parameters,
        now=kept.now,
        messages=[texts[digest] for digest in (*first, *kept.messages)],
        response_schema=orjson.loads(texts[kept.schema].content) if kept.schema else None,
        answer=texts[kept.answer].content if kept.answer else None,
        finish_reason=made.finish_reason,
        error=kept.error,
        at=made.at,
    )
