"""Quality: how a tenant's turns went, read from the ledger or from the days that are kept.

The turns of a span of time are a range of ids, so that a report costs what its span holds, however many turns there
are. A day is kept as sums, which stay when its turns are pruned.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import func, select, text
from sqlalchemy.orm import Session

from turnloom.models.contracts.quality import QualityBy, QualityLine
from turnloom.models.contracts.rollout import RunningRollout, Sides
from turnloom.models.runtime.ids import first_id
from turnloom.models.tables.quality import QualityDayRow
from turnloom.models.tables.turns import TurnRow

_COUNTS = (
    *("turns", "failed", "plans", "valid_plans", "tool_calls", "tool_successes", "checked", "grounded", "questions"),
    *("first_word_p50_ms", "first_word_p95_ms", "cost", "unpriced_turns", "up", "down"),
)
_WITHIN = "tenant_id = :tenant AND turn_id >= :first AND turn_id < :last"
_ENDED = "status IN ('succeeded', 'needs_input', 'failed', 'unknown')"
_SPOKE_AT = "created_at - (trace ->> 'streaming_ms')::float8 * interval '1 millisecond'"
"""When the first text was streamed. A plan or a reply says how long before it was recorded that was."""

# A caller's own plan tells nothing about the language model. A playbook may stand in for a plan that was refused.
_FACTS = f"""
WITH chosen AS (
  SELECT id AS turn_id, agent, conversation_id, status = 'failed' AS failed, usage, created_at, finished_at,
         submitted_plan IS NULL AND error ->> 'code' = 'invalid_plan' IS TRUE AS is_refused
    FROM turns
   WHERE tenant_id = :tenant AND id >= :first AND id < :last AND status IN ('succeeded', 'failed') AND author IS NULL
     AND (CAST(:agent AS text) IS NULL OR agent = :agent)
), planned AS (
  SELECT turn_id, bool_or(source = 'llm') AS is_drafted, bool_or((trace ->> 'repaired')::boolean) AS is_repaired,
         bool_or(trace -> 'failure' ->> 'code' = 'invalid_plan') AS is_refused, min({_SPOKE_AT}) AS spoke_at
    FROM plans WHERE {_WITHIN} GROUP BY turn_id
), called AS (
  SELECT turn_id, count(*) AS calls, count(*) FILTER (WHERE status = 'succeeded') AS successes
    FROM steps WHERE {_WITHIN} AND {_ENDED} AND copy_of IS NULL GROUP BY turn_id
), answered AS (
  SELECT turn_id, question IS NOT NULL AS asks, {_SPOKE_AT} AS spoke_at,
         grounded AND coalesce(trace -> 'refused', '[]') = '[]' AS is_grounded
    FROM replies WHERE {_WITHIN}
), rated AS (
  SELECT turn_id, count(*) FILTER (WHERE rating = 'up') AS up, count(*) FILTER (WHERE rating = 'down') AS down
    FROM feedback WHERE {_WITHIN} GROUP BY turn_id
), facts AS (
  SELECT c.turn_id, c.agent, c.conversation_id, (c.created_at AT TIME ZONE 'UTC')::date AS day, c.failed,
         c.is_refused OR p.is_refused IS TRUE AS is_refused, p.is_drafted IS TRUE AS is_drafted,
         p.is_repaired IS TRUE AS is_repaired, k.calls, k.successes, a.is_grounded, a.asks IS TRUE AS asks,
         r.up, r.down,
         extract(epoch FROM least(p.spoke_at, a.spoke_at, c.finished_at) - c.created_at) * 1000 AS first_word_ms,
         (c.usage ->> 'cost')::float8 AS cost, (c.usage ->> 'unpriced_calls')::int > 0 AS is_unpriced
    FROM chosen c LEFT JOIN planned p USING (turn_id) LEFT JOIN called k USING (turn_id)
    LEFT JOIN answered a USING (turn_id) LEFT JOIN rated r USING (turn_id)
)"""  # noqa: S608 - our own text
_SUMS = """
  count(*) AS turns, count(*) FILTER (WHERE failed) AS failed,
  count(*) FILTER (WHERE is_drafted OR is_refused) AS plans,
  count(*) FILTER (WHERE is_drafted AND NOT is_refused AND NOT is_repaired) AS valid_plans,
  coalesce(sum(calls), 0)::bigint AS tool_calls, coalesce(sum(successes), 0)::bigint AS tool_successes,
  count(is_grounded) AS checked, count(*) FILTER (WHERE is_grounded) AS grounded,
  count(*) FILTER (WHERE asks) AS questions,
  percentile_cont(0.5) WITHIN GROUP (ORDER BY first_word_ms) AS first_word_p50_ms,
  percentile_cont(0.95) WITHIN GROUP (ORDER BY first_word_ms) AS first_word_p95_ms,
  coalesce(sum(cost), 0) AS cost, count(*) FILTER (WHERE is_unpriced) AS unpriced_turns,
  coalesce(sum(up), 0)::bigint AS up, coalesce(sum(down), 0)::bigint AS down"""
_SOURCES = f"""
  SELECT turn_id, named.version FROM {{table}}, LATERAL (
    SELECT trace ->> 'agent' AS version UNION ALL SELECT 'llm/' || (trace ->> 'llm')
    UNION ALL SELECT jsonb_array_elements_text(trace -> 'prompts')) AS named
   WHERE {_WITHIN}"""  # noqa: S608 - our own text
_NAMED = " UNION ALL ".join(_SOURCES.format(table=table) for table in ("plans", "replies"))
_USED = f"(SELECT DISTINCT turn_id, version FROM ({_NAMED}) AS named WHERE version IS NOT NULL) AS used"  # noqa: S608 - our own text
"""The texts and language models of each turn."""
_DIGEST = "sha256(convert_to(CAST(:rollout AS text) || '/' || conversation_id, 'UTF8'))"
_BUCKET = f"('x' || left(encode({_DIGEST}, 'hex'), 8))::bit(32)::bigint"
"""The bucket of a conversation, as models/contracts/rollout.py computes it."""

_KEYS: Mapping[QualityBy, tuple[str, str]] = {
    "agent": ("agent", "facts"),
    "version": ("agent, version", f"facts JOIN {_USED} USING (turn_id)"),
    "day": ("day, agent", "facts"),
}
_KEEP = f"""
INSERT INTO quality_days (tenant_id, day, agent, version, {", ".join(_COUNTS)})
{_FACTS}
SELECT CAST(:tenant AS uuid), CAST(:day AS date), kept.* FROM (
  SELECT agent, '' AS version, {_SUMS} FROM facts GROUP BY agent
  UNION ALL SELECT agent, version, {_SUMS} FROM {_KEYS["version"][1]} GROUP BY agent, version
) AS kept ORDER BY agent, version
ON CONFLICT (tenant_id, day, agent, version) DO UPDATE
   SET {", ".join(f"{name} = excluded.{name}" for name in _COUNTS)}, computed_at = clock_timestamp()
"""  # noqa: S608 - our own text


@dataclass(frozen=True)
class TurnSpan:
    """The turns that were received from one moment on, and before another one."""

    since: datetime
    until: datetime

    def bounds(self) -> dict[str, Any]:
        """Return the range of their ids."""
        return {"first": first_id(self.since), "last": first_id(self.until)}


def day_span(day: date) -> TurnSpan:
    """Return the span of a UTC day."""
    midnight = datetime.combine(day, time(), UTC)
    return TurnSpan(midnight, midnight + timedelta(days=1))


def lines(
    db: Session, tenant_id: UUID, span: TurnSpan, by: QualityBy = "agent", agent: str | None = None
) -> list[QualityLine]:
    """Return how the turns of a span went, in the order of their keys. `agent`: only the turns with this one."""
    keys, rows = _KEYS[by]
    query = f"{_FACTS} SELECT {keys}, {_SUMS} FROM {rows} GROUP BY {keys} ORDER BY {keys}"  # noqa: S608 - our own text
    found = db.execute(text(query), {"tenant": tenant_id, "agent": agent, **span.bounds()})
    return [_line(dict(row)) for row in found.mappings()]


def sides(db: Session, tenant_id: UUID, rollout: RunningRollout, span: TurnSpan) -> Sides:
    """Return how the turns of a span went with a rollout's new text and with the old one.

    A rollout of an agent counts the turns with this agent only.
    """
    folder, _, short = rollout.name.partition("/")
    key = f"{_BUCKET} < :bound"
    query = f"{_FACTS} SELECT {key} AS is_new, {_SUMS} FROM facts GROUP BY 1"  # noqa: S608 - our own text
    given = {"rollout": str(rollout.id), "bound": rollout.bound, "agent": short if folder == "agents" else None}
    found = db.execute(text(query), {"tenant": tenant_id, **given, **span.bounds()}).mappings()
    by_side = {row["is_new"]: _line(dict(row)) for row in found}
    return Sides(by_side.get(True), by_side.get(False))


def tenants_of(db: Session, day: date) -> list[UUID]:
    """Return the tenants that received turns on a UTC day."""
    bounds = day_span(day).bounds()
    query = select(TurnRow.tenant_id).distinct().where(TurnRow.id >= bounds["first"], TurnRow.id < bounds["last"])
    return sorted(db.scalars(query))


def keep_day(db: Session, tenant_id: UUID, day: date) -> None:
    """Keep how a tenant's turns of a UTC day went, in place of what was kept of it before."""
    db.execute(text(_KEEP), {"tenant": tenant_id, "agent": None, "day": day, **day_span(day).bounds()})


def last_day(db: Session) -> date | None:
    """Return the last day that is kept of any tenant."""
    return db.scalar(select(func.max(QualityDayRow.day)))


def trend(
    db: Session, tenant_id: UUID, since: date, agent: str | None = None, version: str = ""
) -> Iterable[QualityLine]:
    """Yield the days that are kept, in order. `version`: only the turns that this text or language model took part in.

    `agent`: only the turns with this one.
    """
    query = select(QualityDayRow).where(
        QualityDayRow.tenant_id == tenant_id, QualityDayRow.day >= since, QualityDayRow.version == version
    )
    if agent is not None:
        query = query.where(QualityDayRow.agent == agent)
    for row in db.scalars(query.order_by(QualityDayRow.day, QualityDayRow.agent)):
        found = {name: getattr(row, name) for name in ("day", "agent", *_COUNTS)}
        yield _line(found | {"version": row.version or None})


def _line(row: Mapping[str, Any]) -> QualityLine:
    fields = {name: value for name, value in row.items() if name in QualityLine.model_fields}
    rates = {
        "error_rate": _rate(row["failed"], row["turns"]),
        "plan_validity": _rate(row["valid_plans"], row["plans"]),
        "tool_success": _rate(row["tool_successes"], row["tool_calls"]),
        "grounded_rate": _rate(row["grounded"], row["checked"]),
        "clarifying_rate": _rate(row["questions"], row["turns"]),
        "cost_per_turn": _rate(row["cost"], row["turns"]),
    }
    return QualityLine.model_validate({**fields, **rates})


def _rate(part: float, whole: int) -> float | None:
    return part / whole if whole else None
