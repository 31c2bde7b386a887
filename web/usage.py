"""Report what a tenant's turns have spent on language models."""

from datetime import UTC, date, datetime, timedelta
from typing import Self

from apiflask import APIBlueprint
from flask import Response
from pydantic import Field, model_validator

from turnloom.models.connections.database import snapshot
from turnloom.models.contracts.base import Contract
from turnloom.models.contracts.usage import GroupBy, UsageReport
from turnloom.models.ledger import usage as ledger
from turnloom.web.auth import caller, requires
from turnloom.web.json_body import json_response

_USUAL_DAYS = 30
_MOST_DAYS = 3660
_FIRST, _LAST = date(1970, 1, 1), date(9998, 12, 31)
"""No turn has an id from before or after these days."""

blueprint = APIBlueprint("usage", __name__, url_prefix="/v1", tag="Usage")


def _today() -> date:
    return datetime.now(UTC).date()


class UsageQuery(Contract):
    """The days to report, and the grouping."""

    to: date = Field(default_factory=_today, ge=_FIRST, le=_LAST)
    """Last day (UTC); by default today."""
    start: date = Field(
        default_factory=lambda given: max(_FIRST, given["to"] - timedelta(days=_USUAL_DAYS - 1)),
        ge=_FIRST,
        alias="from",
    )
    """First day (UTC); by default 29 days before the last one, which makes 30 days."""
    group_by: GroupBy = "day"
    limit: int = Field(100, ge=1, le=1000)
    """Lines, at most."""

    @model_validator(mode="after")
    def days_are_in_order(self) -> Self:
        """Refuse a period that ends before it begins or is longer than ten years."""
        if not 0 <= (self.to - self.start).days < _MOST_DAYS:
            raise ValueError("`from` must not be after `to`, nor more than ten years before it")
        return self


@blueprint.get("/usage")
@requires("admin")
@blueprint.input(UsageQuery, location="query")
@blueprint.output(UsageReport)
@blueprint.doc(operation_id="get_usage")
def usage(query_data: UsageQuery) -> Response:
    """Show what the tenant's turns have spent on language models, by day, agent, language model or conversation.

    A turn counts for the day (UTC) on which it was received. Calls of language models without a known price are counted
    in `unpriced_calls` and in no cost.
    """
    tenant_id, start, end = caller().tenant_id, query_data.start, query_data.to
    with snapshot(caller().tenant_id) as db:
        report = ledger.report(db, tenant_id, start, end, query_data.group_by, query_data.limit)
    return json_response(report)
