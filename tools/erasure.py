"""Erase what is stored of a conversation or of a user: by the ledger, and by every pack in its own tables."""

from uuid import UUID

from turnloom.models.connections.database import Transaction
from turnloom.models.errors import NotFound, Unavailable
from turnloom.models.ledger import conversations, replays, users
from turnloom.models.runtime.settings import settings
from turnloom.models.schema.revisions import migrated_packs
from turnloom.tools.pack_index import known_packs


def erase_conversation(db: Transaction, tenant_id: UUID, conversation_id: str) -> None:
    """Erase the content of a conversation. Its turns, statuses, times and audit chain stay, without text.

    A shipped pack erases its part even if it is no longer enabled. Recordings and replays of it are removed; of a
    conversation of another system there is nothing else.

    Raises:
        NotFound: the tenant has no such conversation.
        Conflict: one of its turns is being worked on.
        Unavailable: a pack has tables in the database and is not enabled in this process.
    """
    packs = known_packs(settings().packs)
    if absent := migrated_packs(db) - {pack.name for pack in packs}:
        raise Unavailable(
            f"the database has tables of {', '.join(sorted(absent))}, which may keep more of the conversation: name"
            " these packs in TURNLOOM_PACKS",
            code="pack_missing",
        )
    was_recorded = replays.erase(db, tenant_id, conversation_id)
    try:
        conversations.erase(db, tenant_id, conversation_id)
    except NotFound:
        if not was_recorded:
            raise
    for pack in packs:
        erase = getattr(pack.part("store"), "erase", None)
        if erase is not None:
            erase(db, tenant_id, conversation_id)


def erase_user(db: Transaction, tenant_id: UUID, user_id: str) -> int:
    """Erase a user: their entry in the directory with all that hangs on it, and every conversation in which they wrote.

    Returns how many conversations that were.

    Raises:
        NotFound: the tenant knows nobody of that id.
        Conflict: a turn of one of these conversations is being worked on; nothing is erased.
        Unavailable: a pack has tables in the database and is not enabled in this process.
    """
    theirs = sorted({*conversations.of_person(db, tenant_id, user_id), *replays.of_person(db, tenant_id, user_id)})
    for conversation_id in theirs:
        erase_conversation(db, tenant_id, conversation_id)
    if not users.remove_user(db, tenant_id, user_id) and not theirs:
        raise NotFound(f"there is no user {user_id!r}")
    return len(theirs)
