"""Usage records what language models cost, by call, turn, conversation and day."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from uuid import UUID

import psycopg
from psycopg.types.json import Jsonb
from sqlalchemy import ColumnElement, Text, cast, func, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from turnloom.models.contracts.turn import Usage
from turnloom.models.contracts.usage import Allowance, GroupBy, LlmCall, UsageLine, UsageReport
from turnloom.models.ledger import tenants
from turnloom.models.ledger.recordings import write_recording
from turnloom.models.ledger.transitions import call
from turnloom.models.runtime.ids import first_id
from turnloom.models.tables.usage import LlmCallRow, UsageDayRow

_FIELDS = tuple(field.name for field in fields(LlmCall) if field.name != "recording")
_SUMS = ("llm_calls", "prompt_tokens", "cached_tokens", "completion_tokens", "cost", "unpriced_calls")


def write_calls(calls: Sequence[LlmCall]) -> Jsonb:
    """Return calls in the form that the ledger's functions take. A text that several of them have is written once."""
    written: set[UUID] = set()
    return Jsonb([_write_call(call, written) for call in calls])


def _write_call(call: LlmCall, written: set[UUID]) -> dict[str, Any]:
    made = {name: getattr(call, name) for name in _FIELDS}
    return made if call.recording is None else {**made, "recording": write_recording(call.recording, written)}


def read_usage(stored: Mapping[str, Any]) -> Usage:
    """Return a usage as it is shown: without a cost if the price of a call is not known."""
    cost = None if stored.get("unpriced_calls") else float(stored.get("cost") or 0.0)
    counts = ("llm_calls", "prompt_tokens", "cached_tokens", "completion_tokens")
    return Usage(**{name: stored.get(name, 0) for name in counts}, cost=cost)


def read_allowances(stored: Sequence[Mapping[str, Any]]) -> list[Allowance]:
    """Read the limits on a turn's calls from the result of `hot.allowances`."""
    return [Allowance(**one) for one in stored]


def record(db: psycopg.Connection, turn_id: UUID, calls: Sequence[LlmCall]) -> None:
    """Record calls on their own: those of an attempt whose fence is old, or made after the turn's end."""
    call(db, "record_calls", turn=turn_id, calls=write_calls(calls))


def sum_up(db: psycopg.Connection) -> int:
    """Add up the connections' counts, which are in separate rows; return how many rows these were."""
    return int(call(db, "sum_usage"))


def calls_of(db: Session, tenant_id: UUID, turn_id: UUID) -> list[LlmCallRow]:
    """Return the calls of a turn, in the order in which they were recorded."""
    query = select(LlmCallRow).where(LlmCallRow.tenant_id == tenant_id, LlmCallRow.turn_id == turn_id)
    return list(db.scalars(query.order_by(LlmCallRow.seq)))


def report(db: Session, tenant_id: UUID, start: date, end: date, group_by: GroupBy, limit: int) -> UsageReport:
    """Return the costs of the turns that a tenant received on these days (UTC), including the last one."""
    return UsageReport(
        first_day=start,
        last_day=end,
        group_by=group_by,
        items=_summed(db, tenant_id, start, end, group_by, limit),
        total=_total(db, tenant_id, start, end),
        budget=tenants.budget_of(db, tenant_id),
    )


def _summed(db: Session, tenant_id: UUID, start: date, end: date, group_by: GroupBy, limit: int) -> list[UsageLine]:
    if group_by == "conversation":
        return _by_conversation(db, tenant_id, start, end, limit)
    column = {"day": UsageDayRow.day, "agent": UsageDayRow.agent, "model": UsageDayRow.model}[group_by]
    return _by_column(db, tenant_id, start, end, column, limit)


def _total(db: Session, tenant_id: UUID, start: date, end: date) -> UsageLine:
    sums = [func.coalesce(func.sum(getattr(UsageDayRow, name)), 0) for name in _SUMS]
    row = db.execute(select(*sums).where(*_within(tenant_id, start, end))).one()
    return UsageLine(key="total", **dict(zip(_SUMS, row, strict=True)))


def _by_column(
    db: Session, tenant_id: UUID, start: date, end: date, column: InstrumentedAttribute[Any], limit: int
) -> list[UsageLine]:
    sums = [func.sum(getattr(UsageDayRow, name)).label(name) for name in _SUMS]
    query = select(cast(column, Text).label("key"), *sums).where(*_within(tenant_id, start, end)).group_by(column)
    order = column if column is UsageDayRow.day else _tokens(UsageDayRow).desc()
    return [UsageLine(**row) for row in db.execute(query.order_by(order, column).limit(limit)).mappings()]


def _by_conversation(db: Session, tenant_id: UUID, start: date, end: date, limit: int) -> list[UsageLine]:
    """Add up calls: there are no sums by conversation and day. Ids tell when a turn was received."""
    tokens = ("prompt_tokens", "cached_tokens", "completion_tokens")
    sums = [func.sum(getattr(LlmCallRow, name)).label(name) for name in tokens]
    query = (
        select(
            LlmCallRow.conversation_id.label("key"),
            func.count().label("llm_calls"),
            func.coalesce(func.sum(LlmCallRow.cost), 0).label("cost"),
            (func.count() - func.count(LlmCallRow.cost)).label("unpriced_calls"),
            *sums,
        )
        .where(
            LlmCallRow.tenant_id == tenant_id,
            LlmCallRow.turn_id >= first_id(_midnight(start)),
            LlmCallRow.turn_id < first_id(_midnight(end + timedelta(days=1))),
        )
        .group_by(LlmCallRow.conversation_id)
        .order_by(_tokens(LlmCallRow).desc(), LlmCallRow.conversation_id)
        .limit(limit)
    )
    return [UsageLine(**row) for row in db.execute(query).mappings()]


def _within(tenant_id: UUID, start: date, end: date) -> list[ColumnElement[bool]]:
    return [UsageDayRow.tenant_id == tenant_id, UsageDayRow.day >= start, UsageDayRow.day <= end]


def _tokens(row: type[LlmCallRow] | type[UsageDayRow]) -> ColumnElement[Any]:
    return func.sum(row.prompt_tokens + row.completion_tokens)


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
