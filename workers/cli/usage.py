"""Show and limit what language models cost: `turnloom usage`, `turnloom tenant budget`."""

from datetime import UTC, datetime, timedelta
from typing import Any, get_args

import click

from turnloom.models.connections.database import snapshot, transaction
from turnloom.models.contracts.usage import Budget, GroupBy
from turnloom.models.ledger import tenants
from turnloom.models.ledger import usage as ledger
from turnloom.tools.command_output import json_option, print_json, print_rows

_COLUMNS = ["key", "llm_calls", "prompt_tokens", "cached_tokens", "completion_tokens", "cost", "unpriced_calls"]
_USUAL_DAYS = 30
_DAY = click.DateTime(["%Y-%m-%d"])


@click.command
@click.option("--tenant", "tenant_name", required=True, help="Tenant whose turns to count.")
@click.option("--from", "start", type=_DAY, default=None, help="First day (UTC).  [default: 30 days in all]")
@click.option("--to", "end", type=_DAY, default=None, help="Last day (UTC).  [default: today]")
@click.option("--by", type=click.Choice(get_args(GroupBy)), default="day", show_default=True, help="What to group by.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=100, show_default=True, help="Lines, at most.")
@json_option
def usage(
    tenant_name: str, start: datetime | None, end: datetime | None, by: GroupBy, limit: int, as_json: bool
) -> None:
    """Show what a tenant's turns have spent on language models. A turn counts for the day (UTC) it was received on."""
    last = (end or datetime.now(UTC)).date()
    first = start.date() if start else last - timedelta(days=_USUAL_DAYS - 1)
    if first > last:
        raise click.UsageError("--from must not be after --to")
    with snapshot() as db:
        report = ledger.report(db, tenants.find(db, tenant_name).id, first, last, by, limit)
    if as_json:
        print_json(report.model_dump(mode="json"))
        return
    print_rows(_COLUMNS, [line.model_dump() for line in (*report.items, report.total)], as_json=False)
    if report.total.unpriced_calls:
        click.echo("some calls have no known price and are in no cost; set TURNLOOM_LLM_PRICES", err=True)


class _Bound(click.ParamType[Any]):
    """An amount, or `none` for no limit."""

    name = "amount"

    def __init__(self, number: click.ParamType[Any]) -> None:
        self._number = number

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return "none" if value == "none" else self._number.convert(value, param, ctx)


_USD = _Bound(click.FloatRange(min=0))
_TOKENS = _Bound(click.IntRange(min=0))


@click.command
@click.argument("name")
@click.option("--day-cost", type=_USD, help="US dollars for all turns of a day (UTC).")
@click.option("--day-tokens", type=_TOKENS, help="Tokens for all turns of a day (UTC).")
@click.option("--conversation-cost", type=_USD, help="US dollars for a conversation.")
@click.option("--conversation-tokens", type=_TOKENS, help="Tokens for a conversation.")
@click.option("--turn-cost", type=_USD, help="US dollars for a turn.")
@click.option("--turn-tokens", type=_TOKENS, help="Tokens for a turn.")
@json_option
def budget(name: str, as_json: bool, **bounds: Any) -> None:
    """Show or set what a tenant's turns may spend on language models. A limit is an amount, or `none`.

    A turn that would exceed a limit with its next call ends `failed` with the code `budget_exceeded`.
    """
    changed = {bound: None if amount == "none" else amount for bound, amount in bounds.items() if amount is not None}
    with transaction() as db:
        before = tenants.budget_of(db, tenants.find(db, name).id)
        after = Budget.model_validate(before.model_dump() | changed)
        if changed:
            tenants.set_budget(db, name, after)
    if as_json:
        print_json(after.model_dump())
    else:
        rows = [{"bound": bound, "amount": amount} for bound, amount in after.model_dump(exclude_none=True).items()]
        print_rows(["bound", "amount"], rows, as_json=False)
