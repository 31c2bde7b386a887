"""A proof bundle is a conversation's audit records with what others need to verify them, without our code or database.

The records' contents have digests of texts: messages, replies, plans, arguments, results. The bundle has the texts that
there still are, and the last head that names the conversation. Of the head's other entries it has digests, so it tells
nothing of other conversations.
"""

import hashlib
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import orjson
from psycopg.types.json import Jsonb
from sqlalchemy import select
from sqlalchemy.orm import Session

from turnloom.models.contracts.base import rfc3339
from turnloom.models.ledger import audit, audit_heads, audit_key, conversations
from turnloom.models.ledger.audit import Chain
from turnloom.models.ledger.audit_heads import entries
from turnloom.models.ledger.transitions import call, call_rows
from turnloom.models.runtime.operators import operator
from turnloom.models.tables.steps import StepRow
from turnloom.models.tables.turns import TurnRow

FORMAT = "turnloom-audit-bundle/1"


def export(db: Session, tenant_id: UUID, conversation_id: str, key: bytes) -> dict[str, Any]:
    """Record that a conversation is exported, sign the state of all chains, and return the conversation's bundle.

    Raises:
        NotFound: the tenant has no such conversation.
    """
    conversations.get(db, tenant_id, conversation_id)
    by = operator()
    content = {"by": by.name, "key_id": None if by.key_id is None else str(by.key_id)}
    call(
        db,
        "append_audit",
        tenant=tenant_id,
        conversation=conversation_id,
        turn=None,
        kind="conversation.exported",
        content=Jsonb(content),
    )
    audit_heads.seal(db, key)
    head, before = audit_heads.head_of(db, tenant_id, conversation_id)
    records = [_record(row) for row in audit.records(db, [Chain(tenant_id, conversation_id)])]
    return {
        "format": FORMAT,
        "tenant_id": str(tenant_id),
        "conversation_id": conversation_id,
        "public_key": audit_key.public_key(key).hex(),
        "records": records,
        "texts": _texts(db, tenant_id, conversation_id, records),
        "head": {
            "number": head.number,
            "at": rfc3339(head.at),
            "previous": before.hex(),
            "entries": [entry.hex() for entry in entries(head)],
            "signature": head.signature.hex(),
        },
    }


def _record(row: Any) -> dict[str, Any]:
    return {
        "seq": row.seq,
        "turn_id": None if row.turn_id is None else str(row.turn_id),
        "kind": row.kind,
        "at": rfc3339(row.at),
        "content": row.content,
        "digest": row.digest.hex(),
        "hash": row.hash.hex(),
    }


def _texts(db: Session, tenant_id: UUID, conversation_id: str, records: list[dict[str, Any]]) -> dict[str, str]:
    """Return the texts whose digests the records have, by digest."""
    named = {digest for record in records if record["content"] for digest in _digests(orjson.loads(record["content"]))}
    said = call_rows(db, "texts_of", tenant=tenant_id, conversation=conversation_id)
    known = {hashlib.sha256(each.encode()).hexdigest(): each for (each,) in said}
    for tool, approval in _approvals(db, tenant_id, conversation_id):
        known[approval["args_hash"]] = _asked(tool, approval["args"])
    return {digest: known[digest] for digest in sorted(named & known.keys())}


def _digests(content: Any) -> Iterator[str]:
    """Yield what stands in a content under names that end in `_sha256`, at any depth."""
    if isinstance(content, list):
        for each in content:
            yield from _digests(each)
    elif isinstance(content, dict):
        for name, value in content.items():
            if name.endswith("_sha256") and isinstance(value, str):
                yield value
            yield from _digests(value)


def _approvals(db: Session, tenant_id: UUID, conversation_id: str) -> list[tuple[str, dict[str, Any]]]:
    query = select(StepRow.tool, StepRow.approval).join(TurnRow, TurnRow.id == StepRow.turn_id)
    these = TurnRow.tenant_id == tenant_id, TurnRow.conversation_id == conversation_id, StepRow.approval.is_not(None)
    return [(tool, approval) for tool, approval in db.execute(query.where(*these)) if approval is not None]


def _asked(tool: str, args: dict[str, Any]) -> str:
    """Return the text whose hash binds an approval: that of workers/running/parking.py."""
    return f"{tool}|" + orjson.dumps(args, option=orjson.OPT_SORT_KEYS).decode()
