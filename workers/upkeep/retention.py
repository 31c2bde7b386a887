"""Remove what is too old to be kept: conversations that have been idle for long, and what channels brought for nobody.

Each conversation is erased as by the API, and its turns are removed, in one commit. So pruning may stop at any time.
"""

from collections.abc import Iterator
from uuid import UUID

from turnloom.models.connections.database import transaction
from turnloom.models.ledger import channel_items, conversations, replays
from turnloom.tools.erasure import erase_conversation

_BATCH = 200


def prune_conversations(tenant_id: UUID | None, age_s: int) -> Iterator[int]:
    """Remove the turns of conversations that have not changed for so many seconds. Yields the number for each.

    A conversation that comes back to life meanwhile is left alone.

    Raises:
        Unavailable: a pack has tables in the database and is not enabled in this process.
    """
    after = None
    while batch := _idle(tenant_id, age_s, after):
        for found in batch:
            if removed := _prune(*found, age_s):
                yield removed
        after = batch[-1]


def prune_channel_items(age_s: int) -> int:
    """Remove what channels brought that long ago and that belongs to no conversation. Returns how many items."""
    total = 0
    while True:
        with transaction() as db:
            removed = channel_items.prune(db, age_s, _BATCH)
        total += removed
        if removed < _BATCH:
            return total


def prune_replays(tenant_id: UUID | None, age_s: int) -> int:
    """Remove replays and conversations of other systems that were made that long ago. Returns how many."""
    with transaction() as db:
        return replays.prune(db, tenant_id, age_s)


def _idle(tenant_id: UUID | None, age_s: int, after: tuple[UUID, str] | None) -> list[tuple[UUID, str]]:
    with transaction() as db:
        return conversations.idle(db, tenant_id, age_s, after, _BATCH)


def _prune(tenant_id: UUID, conversation_id: str, age_s: int) -> int:
    with transaction() as db:
        if not conversations.lock_idle(db, tenant_id, conversation_id, age_s):
            return 0
        erase_conversation(db, tenant_id, conversation_id)
        return conversations.prune(db, tenant_id, conversation_id)
