"""Snapshots of turns are read here, many at a time: each with everything that callers see of it, at one moment."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import psycopg
from psycopg.rows import dict_row

from turnloom.models.contracts.turn import FINAL_TURN_STATUSES


@dataclass(frozen=True, slots=True)
class StepSnapshot:
    """A step as callers see it. Each field has the meaning of its column."""

    id: str
    tool: str
    args: dict[str, Any]
    needs: list[str]
    effect: str
    position: int
    copy_of: str | None
    status: str
    attempt: int
    approval: dict[str, Any] | None
    worker: str | None
    cache: str | None
    ready_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None
    result: Any
    error: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class TurnSnapshot:
    """A turn with all that belongs to it, at one moment; the fields mean what the columns of its table mean."""

    id: UUID
    tenant_id: UUID
    conversation_id: str
    seq: int
    agent: str
    mode: str | None
    priority: str
    status: str
    superseded_by: UUID | None
    action: str | None
    output: Any
    synthesis_hint: str | None
    usage: dict[str, Any]
    error: dict[str, Any] | None
    extra: dict[str, Any]
    author: str | None
    channel: str
    created_at: datetime
    begun_at: datetime | None
    planning_ms: float
    planned_at: datetime | None
    responding_at: datetime | None
    finished_at: datetime | None
    plans: list[dict[str, Any]]
    """The documents of its revisions with their numbers, oldest first."""
    steps: list[StepSnapshot]
    """In the order of its plans."""
    reply: dict[str, Any] | None
    """The columns of its reply that are shown."""
    deliveries: list[dict[str, Any]]
    """The columns of the parts of what is sent to its person that are shown, if it came from a channel."""


_PARTS = ("plans", "steps", "reply", "deliveries")
_TURN = ", ".join(name for name in TurnSnapshot.__dataclass_fields__ if name not in _PARTS)
_STEP = ", ".join(StepSnapshot.__dataclass_fields__)
_TIMES = ("ready_at", "started_at", "finished_at")

# Plans and steps exist only once the turn has begun, and the reply only once it is final: otherwise skip them.
_QUERY = f"""
SELECT {_TURN},
  CASE WHEN begun_at IS NOT NULL THEN (
    SELECT json_agg(json_build_object('revision', p.revision, 'document', p.document) ORDER BY p.revision)
    FROM plans p WHERE p.turn_id = t.id AND p.tenant_id = t.tenant_id) END AS plans,
  CASE WHEN begun_at IS NOT NULL THEN (
    SELECT json_agg(shown) FROM (
      SELECT {_STEP} FROM steps s WHERE s.turn_id = t.id AND s.tenant_id = t.tenant_id
      ORDER BY s.revision, s.position) AS shown) END AS steps,
  CASE WHEN status = ANY(%s) THEN (
    SELECT json_build_object('text', r.text, 'artifacts', r.artifacts, 'question', r.question,
                             'grounded', r.grounded, 'sources', r.sources, 'suggestions', r.suggestions)
    FROM replies r WHERE r.turn_id = t.id AND r.tenant_id = t.tenant_id) END AS reply,
  CASE WHEN channel <> 'api' THEN (
    SELECT json_agg(json_build_object('part', d.part, 'status', d.status, 'provider_id', d.provider_id,
                                      'attempts', d.attempt, 'error', d.error) ORDER BY d.part)
    FROM deliveries d WHERE d.turn_id = t.id AND d.tenant_id = t.tenant_id) END AS deliveries
FROM turns t WHERE t.id = ANY(%s)
"""  # noqa: S608 - names of our own fields


def read(db: psycopg.Connection, turn_ids: Sequence[UUID]) -> Mapping[UUID, TurnSnapshot]:
    """Return those of the turns that exist, of any tenant, as they are at one moment: in one statement."""
    with db.cursor(row_factory=dict_row) as cursor:
        cursor.execute(_QUERY, (list(FINAL_TURN_STATUSES), list(turn_ids)), prepare=True)
        return {row["id"]: _snapshot(row) for row in cursor}


def _snapshot(row: dict[str, Any]) -> TurnSnapshot:
    plans = [{"revision": plan["revision"], **plan["document"]} for plan in row.pop("plans") or ()]
    steps = [_step(step) for step in row.pop("steps") or ()]
    return TurnSnapshot(plans=plans, steps=steps, deliveries=row.pop("deliveries") or [], **row)


def _step(found: dict[str, Any]) -> StepSnapshot:
    times = {name: datetime.fromisoformat(found[name]) for name in _TIMES if found[name]}
    return StepSnapshot(**(found | times))
