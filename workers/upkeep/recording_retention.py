"""Recorded prompts and answers are removed when they are old enough. Their turns, and what they cost, stay."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from turnloom.models.connections.database import transaction
from turnloom.models.ledger import recordings
from turnloom.models.runtime.ids import first_id
from turnloom.models.runtime.logging import log
from turnloom.models.runtime.settings import settings
from turnloom.workers.broker.app import app

_AT_ONCE = 1_000
"""Most conversations that one run looks at, so that other upkeep is not kept waiting."""


@app.task(name="prune_recordings", send_events=False)
def prune_recordings() -> None:
    """Remove recordings of turns that are older than TURNLOOM_RECORD_DAYS."""
    before = first_id(datetime.now(UTC) - timedelta(days=settings().record_days))
    with transaction() as db:
        found = recordings.aged(db, before, _AT_ONCE)
    removed = sum(_prune(tenant_id, conversation_id, before) for tenant_id, conversation_id in found)
    if removed:
        log.info("recordings.pruned", calls=removed)


def _prune(tenant_id: UUID, conversation_id: str, before: UUID) -> int:
    with transaction() as db:
        return recordings.prune(db, tenant_id, conversation_id, before)
