"""Show how tool calls went: `turnloom tools stats`."""

from datetime import UTC, datetime, timedelta

import click

from turnloom.models.connections.database import snapshot
from turnloom.models.ledger import tenants, tool_stats
from turnloom.tools.command_output import json_option, print_json, print_rows
from turnloom.workers.cli.spans import Span

_COLUMNS = ["tool", "calls", "success", "mean_ms", "p50_ms", "p95_ms", "cached", "missing", "errors"]


@click.command("stats")
@click.argument("tool", required=False)
@click.option("--tenant", "tenant_name", default=None, help="Only this tenant's turns.  [default: all]")
@click.option("--since", type=Span(), default="24h", show_default=True, help="Only turns received in this period.")
@json_option
def stats(tool: str | None, tenant_name: str | None, since: timedelta, as_json: bool) -> None:
    """Show how calls of TOOL, or of all tools, went: successes, times, missing fields, errors."""
    with snapshot() as db:
        tenant_id = tenants.find(db, tenant_name).id if tenant_name else None
        found = tool_stats.of_tools(db, datetime.now(UTC) - since, tenant_id, tool)
    if as_json:
        print_json([each.model_dump(mode="json") for each in found])
        return
    rows = [
        each.model_dump()
        | {"success": f"{each.success_rate:.1%}", "missing": _listed(each.missing), "errors": _listed(each.errors)}
        | {name: _rounded(getattr(each, name)) for name in ("mean_ms", "p50_ms", "p95_ms")}
        for each in found
    ]
    print_rows(_COLUMNS, rows, as_json=False)


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())


def _rounded(milliseconds: float | None) -> str:
    return "" if milliseconds is None else f"{milliseconds:.1f}"
