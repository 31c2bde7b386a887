"""Knowledge of a conversation is loaded here, and what its active turn has learned is recorded."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import delete, func, select, tuple_
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from turnloom.models.contracts.knowledge import AttributeFact, Entity, Hypothesis, Item, ItemKey, Lesson, Relationship
from turnloom.models.ledger.turns import ClaimedTurn
from turnloom.models.tables.knowledge import KnowledgeRow
from turnloom.models.tables.turns import TurnRow

_SHAPES: dict[str, type[Item]] = {
    "entity": Entity,
    "fact": AttributeFact,
    "relationship": Relationship,
    "hypothesis": Hypothesis,
}
_LESSON = "lesson"


@dataclass(frozen=True)
class Known:
    """A conversation's knowledge in the ledger."""

    items: list[Item]
    undone: frozenset[str]
    """Turns that were rolled back: later turns must not see what they found out."""
    lessons: dict[tuple[str, int], Lesson]
    """(Turn, revision) -> the lesson learned from its results."""


@dataclass(frozen=True)
class Learned:
    """The knowledge that a turn took from one revision of its plan."""

    revision: int
    lesson: Lesson
    put: Mapping[ItemKey, Item]
    """Items that are new, or newer."""
    forgotten: Collection[ItemKey]


def load(db: Session, tenant_id: UUID, conversation_id: str) -> Known:
    """Return what a conversation knows; nothing if there is no such conversation."""
    query = select(KnowledgeRow.kind, KnowledgeRow.id, KnowledgeRow.content)
    rows = list(db.execute(query.where(*_of(tenant_id, conversation_id))))
    items = [_SHAPES[kind].model_validate(content) for kind, _, content in rows if kind != _LESSON]
    lessons = {_read(name): Lesson.model_validate(content) for kind, name, content in rows if kind == _LESSON}
    return Known(items, _undone(db, tenant_id, conversation_id) if items else frozenset(), lessons)


def record(db: Session, turn: ClaimedTurn, learned: Learned) -> bool:
    """Record what a turn has learned. False: the fence is old and nothing was recorded.

    The lessons of earlier turns are deleted: the graph holds their findings, and the traces of their plans hold the
    rest.
    """
    locked_turn = select(TurnRow.id).where(
        TurnRow.id == turn.id,
        TurnRow.tenant_id == turn.tenant_id,
        TurnRow.attempt == turn.attempt,
        TurnRow.status == "planning",
    )
    if db.scalar(locked_turn.with_for_update(key_share=True)) is None:
        return False
    mine = f"{turn.id}/"
    keys = [(key.kind, key.id) for key in learned.forgotten]
    db.execute(delete(KnowledgeRow).where(*_of_turn(turn), tuple_(KnowledgeRow.kind, KnowledgeRow.id).in_(keys)))
    db.execute(
        delete(KnowledgeRow).where(
            *_of_turn(turn), KnowledgeRow.kind == _LESSON, ~KnowledgeRow.id.startswith(mine, autoescape=True)
        )
    )
    contents: list[tuple[str, str, Item | Lesson]] = [(*key, item) for key, item in learned.put.items()]
    _put(db, turn, [*contents, (_LESSON, f"{mine}{learned.revision}", learned.lesson)])
    return True


def _put(db: Session, turn: ClaimedTurn, contents: Iterable[tuple[str, str, Item | Lesson]]) -> None:
    rows = [
        {
            "tenant_id": turn.tenant_id,
            "conversation_id": turn.conversation_id,
            "kind": kind,
            "id": name,
            "content": content.model_dump(mode="json"),
        }
        for kind, name, content in contents
    ]
    upsert = insert(KnowledgeRow)
    upsert = upsert.on_conflict_do_update(
        index_elements=["tenant_id", "conversation_id", "kind", "id"], set_={"content": upsert.excluded.content}
    )
    db.execute(upsert, rows)


def _undone(db: Session, tenant_id: UUID, conversation_id: str) -> frozenset[str]:
    query = select(TurnRow.id).where(
        TurnRow.tenant_id == tenant_id,
        TurnRow.conversation_id == conversation_id,
        TurnRow.superseded_by.is_not(None),
        func.hot.is_rolled_back(TurnRow.superseded_by),
    )
    return frozenset(map(str, db.scalars(query)))


def _of(tenant_id: UUID, conversation_id: str) -> tuple[Any, ...]:
    return KnowledgeRow.tenant_id == tenant_id, KnowledgeRow.conversation_id == conversation_id


def _of_turn(turn: ClaimedTurn) -> tuple[Any, ...]:
    return _of(turn.tenant_id, turn.conversation_id)


def _read(name: str) -> tuple[str, int]:
    turn, revision = name.split("/")
    return turn, int(revision)
