"""Show how a tenant's turns went: `turnloom eval metrics`, `turnloom eval trend`, `turnloom eval nights`."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import groupby
from typing import Any, get_args

import click

from turnloom.models.connections.database import snapshot
from turnloom.models.contracts.quality import GoldenNight, QualityBy, QualityLine, QualityReport, QualityTrend
from turnloom.models.ledger import golden_nights, quality, tenants
from turnloom.models.ledger.quality import TurnSpan
from turnloom.models.tables.quality import GoldenNightRow
from turnloom.tools.command_output import json_option, print_json, print_rows
from turnloom.workers.cli.spans import Span
from turnloom.workers.evals.proportions import wilson

_RATES = ("error_rate", "plan_validity", "tool_success", "grounded_rate", "clarifying_rate")
_MEASURES = (*_RATES, "first_word_p50_ms", "first_word_p95_ms", "cost_per_turn", "up", "down")

_of_tenant = click.option("--tenant", "tenant_name", required=True, help="Tenant whose turns to count.")
_agent = click.option("--agent", default=None, help="Only turns with this agent.")


@click.command
@_of_tenant
@_agent
@click.option("--since", type=Span(), default="7d", show_default=True, help="Turns received in this time.")
@click.option("--by", type=click.Choice(get_args(QualityBy)), default="agent", show_default=True, help="Grouping.")
@json_option
def metrics(tenant_name: str, agent: str | None, since: timedelta, by: QualityBy, as_json: bool) -> None:
    """Show how a tenant's turns went: valid plans, successful calls, grounded replies, questions, times, cost, ratings.

    `--by version` has a line for each text and language model that took part in turns, so that versions can be
    compared.
    """
    until = datetime.now(UTC)
    span = TurnSpan(until - since, until)
    with snapshot() as db:
        items = quality.lines(db, tenants.find(db, tenant_name).id, span, by, agent)
    if as_json:
        found = QualityReport(since=span.since, until=span.until, by=by, items=items)
        print_json(found.model_dump(mode="json"))
    else:
        keys = {"agent": ["agent"], "version": ["agent", "version"], "day": ["day", "agent"]}[by]
        show_lines(keys, items)


@click.command
@_of_tenant
@_agent
@click.option("--since", type=Span(), default="30d", show_default=True, help="Days to show.")
@click.option("--version", default="", help="Only turns in which this text or language model took part.")
@json_option
def trend(tenant_name: str, agent: str | None, since: timedelta, version: str, as_json: bool) -> None:
    """Show how a tenant's turns went, day by day (UTC). The days are kept when the turns are pruned."""
    first = (datetime.now(UTC) - since).date()
    with snapshot() as db:
        items = list(quality.trend(db, tenants.find(db, tenant_name).id, first, agent, version))
    if as_json:
        print_json(QualityTrend(items=items).model_dump(mode="json"))
    else:
        show_lines(["day", "agent"], items)


@click.command
@_of_tenant
@click.option("--since", type=Span(), default="30d", show_default=True, help="Nights to show.")
@json_option
def nights(tenant_name: str, since: timedelta, as_json: bool) -> None:
    """Show how many golden conversations passed, night by night: those that workers hold with TURNLOOM_EVAL_KEY.

    The tenant is the one that this key belongs to.
    """
    first = (datetime.now(UTC) - since).date()
    with snapshot() as db:
        rows = golden_nights.held(db, tenants.find(db, tenant_name).id, first)
    found = [_night(day, list(held)) for day, held in groupby(rows, lambda row: row.day)]
    if as_json:
        print_json([each.model_dump(mode="json") for each in found])
        return
    shown = [
        {**each.model_dump(mode="json"), "pass@1": "{:.1%} [{:.1%}, {:.1%}]".format(each.pass_1, *each.pass_1_interval)}
        for each in found
    ]
    print_rows(["day", "held", "passed", "pass@1", "failed"], shown, as_json=False)


def _night(day: date, held: Sequence[GoldenNightRow]) -> GoldenNight:
    passed = sum(bool(row.passed) for row in held)
    return GoldenNight(
        day=day,
        held=len(held),
        passed=passed,
        pass_1=passed / len(held),
        pass_1_interval=wilson(passed / len(held), len(held)),
        failed=[row.name for row in held if not row.passed],
    )


def show_lines(keys: list[str], items: list[QualityLine], **more: list[str]) -> None:
    """Print lines as a table. `more`: further columns by name, with a value for each line."""
    rows = [
        {**line.model_dump(mode="json"), **{name: _shown(name, getattr(line, name)) for name in _MEASURES}}
        | {name: values[place] for name, values in more.items()}
        for place, line in enumerate(items)
    ]
    print_rows([*more, *keys, "turns", *_MEASURES], rows, as_json=False)


def _shown(name: str, value: Any) -> str:
    if value is None:
        return "-"
    if name in _RATES:
        return f"{value:.1%}"
    return f"{value:.5f}" if name == "cost_per_turn" else f"{value:.0f}"
