"""Show and set a tenant's own limits: `turnloom tenant limits`."""

from typing import Any

import click

from turnloom.models.connections.database import transaction
from turnloom.models.contracts import rate
from turnloom.models.ledger import limits as ledger
from turnloom.models.ledger import tenants
from turnloom.tools.command_output import json_option, print_json, print_rows


class _Own(click.ParamType[Any]):
    """A limit of the tenant's own; `default` (here `...`): the deployment's; for a rate `none`: no limit at all."""

    name = "limit"

    def __init__(self, number: click.IntRange | None = None) -> None:
        self._number = number

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "default":
            return ...
        if self._number is not None:
            return self._number.convert(value, param, ctx)
        try:
            return "none" if value == "none" else rate.checked(value)
        except ValueError as error:
            return self.fail(str(error), param, ctx)


_WINDOW = _Own(click.IntRange(min=0))
_RATE = _Own()


@click.command
@click.argument("name")
@click.option("--backlog", type=_Own(click.IntRange(min=1)), help="Most unfinished turns.")
@click.option(
    "--user-backlog", type=_Own(click.IntRange(min=1)), help="How many of one user may wait for the user's others."
)
@click.option("--window", type=_WINDOW, help="Most interactive turns in work at the same time; 0: any number.")
@click.option("--user-window", type=_WINDOW, help="How many of these one user may have; 0: any number.")
@click.option("--batch-window", type=_WINDOW, help="Most batch turns in work at the same time; 0: any number.")
@click.option("--burst-window-ms", type=_Own(click.IntRange(0, 10_000)), help="How long further messages are awaited.")
@click.option("--rate", type=_RATE, help="Messages that may be posted in all, such as 300/minute.")
@click.option("--user-rate", type=_RATE, help="Messages that one user may post.")
@click.option("--key-rate", type=_RATE, help="Messages that may be posted with one key.")
@click.option("--account-rate", type=_RATE, help="Messages that one account of a channel may bring.")
@json_option
def limits(name: str, as_json: bool, **bounds: Any) -> None:
    """Show or set a tenant's own limits. Those that it has none of are the deployment's.

    `default` gives the deployment's limit back, and `none` lifts a rate. Processes know a change within four seconds.
    """
    changed = {limit: None if value == "none" else value for limit, value in bounds.items() if value is not None}
    with transaction() as db:
        tenant_id = tenants.find(db, name).id
        own = ledger.change(db, name, changed) if changed else ledger.own(db, tenant_id)
        db.flush()
        allowed = ledger.of(db, tenant_id).model_dump()
    rows = [{"limit": limit, "value": value, "own": limit in own} for limit, value in allowed.items()]
    if as_json:
        print_json({"tenant": name, "limits": allowed, "own": sorted(own)})
    else:
        print_rows(["limit", "value", "own"], rows, as_json=False)
