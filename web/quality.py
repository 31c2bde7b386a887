"""Report how a tenant's turns went."""

from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Self

from apiflask import APIBlueprint
from flask import Response
from pydantic import AwareDatetime, Field, model_validator

from turnloom.models.connections.database import snapshot
from turnloom.models.contracts.base import Contract
from turnloom.models.contracts.quality import QualityBy, QualityReport, QualityTrend
from turnloom.models.ledger import quality as ledger
from turnloom.models.ledger.quality import TurnSpan
from turnloom.web.auth import caller, requires
from turnloom.web.json_body import json_response

_USUAL, _LONGEST = timedelta(days=7), timedelta(days=31)
_FIRST, _LAST = datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC)
"""No turn has an id from before or after these moments."""

Name = Annotated[str, Field(max_length=300, pattern=r"^[^\x00-\x1f\x7f]*$")]

blueprint = APIBlueprint("quality", __name__, url_prefix="/v1/metrics", tag="Metrics")


class QualityQuery(Contract):
    """The turns to report on, and the grouping."""

    until: AwareDatetime = Field(default_factory=lambda: datetime.now(UTC), ge=_FIRST, le=_LAST)
    """Turns received before this moment; by default now."""
    since: AwareDatetime = Field(default_factory=lambda given: max(_FIRST, given["until"] - _USUAL), ge=_FIRST)
    """Turns received from this moment on; by default seven days before the end."""
    agent: Name | None = None
    """Only turns with this agent."""
    by: QualityBy = "agent"

    @model_validator(mode="after")
    def span_is_bounded(self) -> Self:
        """Refuse a span that ends before it begins, or is longer than a month."""
        if not timedelta(0) <= self.until - self.since <= _LONGEST:
            raise ValueError("`since` must not be after `until`, nor more than 31 days before it; see the trend")
        return self


def _usual_first_day() -> date:
    return (datetime.now(UTC) - timedelta(days=29)).date()


class TrendQuery(Contract):
    """The days to show."""

    since: date = Field(default_factory=_usual_first_day)
    """First day (UTC); by default 29 days before today."""
    agent: Name | None = None
    """Only turns with this agent."""
    version: Name = ""
    """Only turns in which this text or language model took part, such as `agents/hotel@3`."""


@blueprint.get("/quality")
@requires("admin")
@blueprint.input(QualityQuery, location="query")
@blueprint.output(QualityReport)
@blueprint.doc(operation_id="get_quality")
def quality(query_data: QualityQuery) -> Response:
    """Show how the tenant's turns went: plans, calls, grounded replies, questions, times, cost and ratings.

    The turns are grouped by agent, by agent and version of each text and language model that took part in them, or by
    day (UTC) and agent.
    """
    span, by = TurnSpan(query_data.since, query_data.until), query_data.by
    with snapshot(caller().tenant_id) as db:
        items = ledger.lines(db, caller().tenant_id, span, by, query_data.agent)
    return json_response(QualityReport(since=span.since, until=span.until, by=by, items=items))


@blueprint.get("/trend")
@requires("admin")
@blueprint.input(TrendQuery, location="query")
@blueprint.output(QualityTrend)
@blueprint.doc(operation_id="get_quality_trend")
def trend(query_data: TrendQuery) -> Response:
    """Show how the tenant's turns went, day by day, as it was kept.

    The days are computed by the periodic tasks, about twice an hour, and stay when the turns are pruned.
    """
    with snapshot(caller().tenant_id) as db:
        items = ledger.trend(db, caller().tenant_id, query_data.since, query_data.agent, query_data.version)
        return json_response(QualityTrend(items=list(items)))
