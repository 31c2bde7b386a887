"""Replays are made, worked on, read and erased here, with the conversations that another system has recorded.

A conversation of a replay is claimed with a lease and a fence, as a step is. Its result is recorded once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg
from psycopg.types.json import Jsonb
from sqlalchemy import (
    ColumnElement,
    CursorResult,
    Float,
    Select,
    cast,
    delete,
    func,
    insert,
    select,
    true,
    union,
    update,
)
from sqlalchemy.orm import Session, defer

from turnloom.models.contracts.foreign import ForeignConversation
from turnloom.models.contracts.replay_request import ForkChanges
from turnloom.models.errors import Conflict, NotFound
from turnloom.models.ledger.foreign import user_of
from turnloom.models.runtime.ids import new_id
from turnloom.models.tables.replays import RecordedConversationRow, ReplayConversationRow, ReplayRow

LEASE_S = 20.0
"""How long a conversation is held without a renewal. Other work may keep a worker of replays waiting for a while."""
_BATCH = 100

_CLAIM = """
    WITH next AS MATERIALIZED (
      SELECT o.tenant_id, o.replay_id, o.number
        FROM replays r JOIN replay_conversations o ON o.tenant_id = r.tenant_id AND o.replay_id = r.id
       WHERE r.id = %(id)s AND r.status = 'running' AND o.done_at IS NULL
         AND (o.lease_until IS NULL OR o.lease_until < clock_timestamp())
       ORDER BY o.number LIMIT 1 FOR UPDATE OF o SKIP LOCKED)
    UPDATE replay_conversations c
       SET attempt = c.attempt + 1, lease_until = clock_timestamp() + make_interval(secs => %(lease_s)s)
      FROM next n
     WHERE c.tenant_id = n.tenant_id AND c.replay_id = n.replay_id AND c.number = n.number
    RETURNING c.tenant_id, c.replay_id, c.number, c.attempt, c.conversation_id, c.content
"""
_RENEW = """
    UPDATE replay_conversations c SET lease_until = clock_timestamp() + make_interval(secs => %(lease_s)s)
      FROM jsonb_to_recordset(%(held)s) AS h(tenant_id uuid, replay_id uuid, number int, attempt int)
     WHERE c.tenant_id = h.tenant_id AND c.replay_id = h.replay_id AND c.number = h.number AND c.attempt = h.attempt
       AND c.done_at IS NULL
"""
_RECORD = """
    UPDATE replay_conversations SET result = %s, lease_until = NULL, done_at = clock_timestamp()
     WHERE tenant_id = %s AND replay_id = %s AND number = %s AND attempt = %s AND done_at IS NULL
"""
_FINISH = """
    UPDATE replays r SET status = 'finished', finished_at = clock_timestamp()
     WHERE r.id = %s AND r.status = 'running' AND NOT EXISTS (
       SELECT FROM replay_conversations c WHERE c.tenant_id = r.tenant_id AND c.replay_id = r.id AND c.done_at IS NULL)
"""
_UNHELD = """
    SELECT r.id, r.status = 'running' FROM replays r
     WHERE r.report IS NULL AND (r.status <> 'running' OR NOT EXISTS (
       SELECT FROM replay_conversations c WHERE c.tenant_id = r.tenant_id AND c.replay_id = r.id
          AND c.done_at IS NULL AND c.lease_until > clock_timestamp()))
     ORDER BY r.id
"""


@dataclass(frozen=True)
class NewConversation:
    """A conversation to replay."""

    conversation_id: str
    content: ForeignConversation | ForkChanges | None = None
    """None: the ledger has it, and nothing of it is changed."""


@dataclass(frozen=True)
class ClaimedConversation:
    """A conversation that this process may replay, until its lease ends."""

    tenant_id: UUID
    replay_id: UUID
    number: int
    attempt: int
    """The fence, and how often it was claimed."""
    conversation_id: str
    content: dict[str, Any] | None
    """A `ForeignConversation`, of a fork `ForkChanges`; None: the ledger has it, and nothing of it is changed."""

    def key(self) -> dict[str, Any]:
        """Return what names the claim."""
        names = {"tenant_id": str(self.tenant_id), "replay_id": str(self.replay_id)}
        return {**names, "number": self.number, "attempt": self.attempt}


@dataclass(frozen=True)
class ReplayProgress:
    """A replay, and how far it is."""

    replay: ReplayRow
    conversations: int
    done: int
    elapsed_s: float
    """Since it was made."""


def make(db: Session, tenant_id: UUID, options: dict[str, Any], listed: Sequence[NewConversation]) -> UUID:
    """Record a replay of these conversations, in their order."""
    replay_id = new_id()
    db.add(ReplayRow(tenant_id=tenant_id, id=replay_id, options=options))
    db.flush()
    rows = [
        {
            "tenant_id": tenant_id,
            "replay_id": replay_id,
            "number": number,
            "conversation_id": each.conversation_id,
            "user_id": user_of(each.content) if isinstance(each.content, ForeignConversation) else None,
            "content": _kept(each.content),
        }
        for number, each in enumerate(listed, 1)
    ]
    db.execute(insert(ReplayConversationRow), rows)
    return replay_id


def claim(db: psycopg.Connection, replay_id: UUID) -> ClaimedConversation | None:
    """Claim the next conversation of a running replay that nobody holds; None if there is none."""
    row = db.execute(_CLAIM, {"id": replay_id, "lease_s": LEASE_S}).fetchone()
    return ClaimedConversation(*row) if row else None


def renew(db: psycopg.Connection, held: Sequence[ClaimedConversation]) -> None:
    """Renew the leases of claimed conversations."""
    db.execute(_RENEW, {"lease_s": LEASE_S, "held": Jsonb([each.key() for each in held])})


def record(db: psycopg.Connection, claimed: ClaimedConversation, result: list[dict[str, Any]]) -> bool:
    """Record the replayed turns of a conversation. False: the fence is old, or it was erased."""
    key = (claimed.tenant_id, claimed.replay_id, claimed.number, claimed.attempt)
    return db.execute(_RECORD, (Jsonb(result), *key)).rowcount == 1


def finish(db: psycopg.Connection, replay_id: UUID) -> bool:
    """End a replay if all its conversations are done. False: they are not, or it has ended before."""
    return db.execute(_FINISH, (replay_id,)).rowcount == 1


def unheld(db: psycopg.Connection) -> tuple[list[UUID], list[UUID]]:
    """Return the running replays of which nobody holds a conversation, and the ended ones without a report."""
    found = db.execute(_UNHELD).fetchall()
    return [each for each, is_running in found if is_running], [each for each, is_running in found if not is_running]


def unreported(db: Session, replay_id: UUID) -> ReplayProgress | None:
    """Return a replay that has ended without a report; None if it runs, or has one."""
    row = db.scalar(select(ReplayRow).where(*_unreported(replay_id)))
    return None if row is None else progress(db, row.tenant_id, row.id)


def keep_report(db: Session, found: ReplayProgress, report: dict[str, Any]) -> bool:
    """Keep the report of a replay that was found `unreported`.

    False: it has one now, or a conversation was erased since. What erases one later waits, and removes the report.
    """
    row = db.scalar(select(ReplayRow).where(*_unreported(found.replay.id)).with_for_update())
    if is_kept := row is not None and progress(db, row.tenant_id, row.id).conversations == found.conversations:
        row.report = report
    return is_kept


def _unreported(replay_id: UUID) -> tuple[ColumnElement[bool], ...]:
    return ReplayRow.id == replay_id, ReplayRow.status != "running", ReplayRow.report.is_(None)


def cancel(db: Session, tenant_id: UUID, replay_id: UUID) -> bool:
    """Cancel a replay. What is done stays. False: it was cancelled before.

    Raises:
        NotFound: the tenant has none of that id.
        Conflict: it is finished.
    """
    row = _locked(db, tenant_id, replay_id)
    if row.status == "finished":
        raise Conflict("the replay is finished", code="finished")
    is_new = row.status == "running"
    if is_new:
        row.status, row.finished_at = "cancelled", db.scalar(select(func.clock_timestamp()))
    return is_new


def progress(db: Session, tenant_id: UUID, replay_id: UUID) -> ReplayProgress:
    """Return a replay and how far it is.

    Raises:
        NotFound: the tenant has none of that id.
    """
    row = db.execute(_progress(tenant_id).where(ReplayRow.id == replay_id)).one_or_none()
    if row is None:
        raise NotFound("there is no replay of that id")
    return ReplayProgress(*row)


def listed(db: Session, tenant_id: UUID, limit: int, before: UUID | None = None) -> list[ReplayProgress]:
    """Return a tenant's replays without their reports, the newest first; with an id, those before it."""
    query = _progress(tenant_id).options(defer(ReplayRow.report, raiseload=True))
    query = query.where(ReplayRow.id < before) if before else query
    return [ReplayProgress(*row) for row in db.execute(query.order_by(ReplayRow.id.desc()).limit(limit))]


def results(db: Session, tenant_id: UUID, replay_id: UUID, after: int) -> list[tuple[int, list[dict[str, Any]]]]:
    """Return number and replayed turns of the next hundred conversations that are done, in order."""
    row = ReplayConversationRow
    query = select(row.number, row.result).where(row.tenant_id == tenant_id, row.replay_id == replay_id)
    query = query.where(row.number > after, row.done_at.is_not(None)).order_by(row.number).limit(_BATCH)
    return [(each.number, each.result) for each in db.execute(query)]


def erase(db: Session, tenant_id: UUID, conversation_id: str) -> bool:
    """Erase what replays and recordings of other systems have of a conversation. False: they have nothing."""
    kept, replayed = RecordedConversationRow, ReplayConversationRow
    count = _count(db, delete(kept).where(kept.tenant_id == tenant_id, kept.id == conversation_id))
    wanted = delete(replayed).where(replayed.tenant_id == tenant_id, replayed.conversation_id == conversation_id)
    ids = sorted(set(db.scalars(wanted.returning(replayed.replay_id))))
    # In the order of the ids: two who erase would be a deadlock otherwise.
    for replay_id in ids:
        db.execute(update(ReplayRow).where(ReplayRow.id == replay_id).values(report=None))
    return bool(count or ids)


def of_person(db: Session, tenant_id: UUID, person: str) -> list[str]:
    """Return the conversations of a person that replays and recordings of other systems have."""
    kept, replayed = RecordedConversationRow, ReplayConversationRow
    own = select(kept.id).where(kept.tenant_id == tenant_id, kept.user_id == person)
    of_replays = select(replayed.conversation_id).where(replayed.tenant_id == tenant_id, replayed.user_id == person)
    return sorted(db.scalars(union(own, of_replays)))


def prune(db: Session, tenant_id: UUID | None, age_s: int) -> int:
    """Remove ended replays and recordings of other systems that are so many seconds old; return how many."""
    before = func.clock_timestamp() - timedelta(seconds=age_s)
    ended = delete(ReplayRow).where(ReplayRow.status != "running", ReplayRow.created_at < before)
    recordings = delete(RecordedConversationRow).where(RecordedConversationRow.created_at < before)
    if tenant_id is not None:
        ended = ended.where(ReplayRow.tenant_id == tenant_id)
        recordings = recordings.where(RecordedConversationRow.tenant_id == tenant_id)
    gone = db.execute(ended.returning(ReplayRow.tenant_id, ReplayRow.id)).fetchall()
    for of_tenant, replay_id in gone:
        row = ReplayConversationRow
        db.execute(delete(row).where(row.tenant_id == of_tenant, row.replay_id == replay_id))
    return len(gone) + _count(db, recordings)


def _kept(content: ForeignConversation | ForkChanges | None) -> dict[str, Any] | None:
    if isinstance(content, ForeignConversation):
        return content.model_dump(mode="json", exclude_none=True)
    return content.model_dump(mode="json") if content else None


def _count(db: Session, statement: Any) -> int:
    done = db.execute(statement, execution_options={"synchronize_session": False})
    assert isinstance(done, CursorResult)
    return done.rowcount


def _locked(db: Session, tenant_id: UUID, replay_id: UUID) -> ReplayRow:
    query = select(ReplayRow).where(ReplayRow.tenant_id == tenant_id, ReplayRow.id == replay_id)
    row = db.scalar(query.with_for_update())
    if row is None:
        raise NotFound("there is no replay of that id")
    return row


def _progress(tenant_id: UUID) -> Select[Any]:
    of = ReplayConversationRow
    counted = select(func.count().label("all"), func.count(of.done_at).label("done"))
    counts = counted.where(of.tenant_id == ReplayRow.tenant_id, of.replay_id == ReplayRow.id).lateral()
    elapsed_s = func.extract("epoch", func.clock_timestamp() - ReplayRow.created_at)
    query = select(ReplayRow, counts.c.all, counts.c.done, cast(elapsed_s, Float))
    return query.join(counts, true()).where(ReplayRow.tenant_id == tenant_id)
