"""Statistics of tools tell how the calls of steps ended, how long they took, and what they lacked."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, Text, case, func, select
from sqlalchemy.orm import Session

from turnloom.models.contracts.tool_stats import ToolStats
from turnloom.models.runtime.ids import first_id
from turnloom.models.tables.steps import StepRow

_ENDED = ("succeeded", "needs_input", "failed", "unknown")


def of_tools(db: Session, since: datetime, tenant_id: UUID | None = None, tool: str | None = None) -> list[ToolStats]:
    """Return statistics of each tool's calls in turns received since `since`, by name.

    Without a tenant or a tool, all of them count.
    """
    within = _within(since, tenant_id, tool)
    missing, errors = _by_tool(db, _missing(within)), _by_tool(db, _errors(within))
    return [
        ToolStats(
            **row,
            success_rate=row["succeeded"] / row["calls"],
            missing=missing[row["tool"]],
            errors=errors[row["tool"]],
        )
        for row in db.execute(_counted(within)).mappings()
    ]


def _within(since: datetime, tenant_id: UUID | None, tool: str | None) -> list[ColumnElement[bool]]:
    """Return the conditions of the steps that count. Ids tell when a turn was received."""
    within = [StepRow.turn_id >= first_id(since), StepRow.status.in_(_ENDED), StepRow.copy_of.is_(None)]
    if tenant_id is not None:
        within.append(StepRow.tenant_id == tenant_id)
    if tool is not None:
        within.append(StepRow.tool == tool)
    return within


def _counted(within: Sequence[ColumnElement[bool]]) -> Select[Any]:
    ended = [func.count().filter(StepRow.status == status).label(status) for status in _ENDED]
    taken = func.extract("epoch", StepRow.finished_at - StepRow.started_at) * 1_000
    took_ms = case((StepRow.cache.is_(None), taken))
    median, tail = (func.percentile_cont(share).within_group(took_ms) for share in (0.5, 0.95))
    sums: list[ColumnElement[Any]] = [
        func.count().label("calls"),
        *ended,
        func.count(StepRow.cache).label("cached"),
        func.avg(took_ms).label("mean_ms"),
        median.label("p50_ms"),
        tail.label("p95_ms"),
    ]
    return select(StepRow.tool, *sums).where(*within).group_by(StepRow.tool).order_by(StepRow.tool)


def _errors(within: Sequence[ColumnElement[bool]]) -> Select[Any]:
    code = StepRow.error["code"].astext.cast(Text)
    query = select(StepRow.tool, code, func.count()).where(*within, StepRow.error.is_not(None))
    return query.group_by(StepRow.tool, code).order_by(func.count().desc(), code)


def _missing(within: Sequence[ColumnElement[bool]]) -> Select[Any]:
    field = func.jsonb_object_keys(StepRow.result["needs"]).label("field")
    asked = select(StepRow.tool, field).where(*within, StepRow.status == "needs_input").subquery()
    query = select(asked.c.tool, asked.c.field, func.count()).group_by(asked.c.tool, asked.c.field)
    return query.order_by(func.count().desc(), asked.c.field)


def _by_tool(db: Session, query: Select[Any]) -> defaultdict[str, dict[str, int]]:
    found: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for tool, name, count in db.execute(query):
        found[tool][name] = count
    return found
