"""Remove what is too old to be kept: `turnloom prune`."""

import sys
from datetime import timedelta

import click

from turnloom.models.connections.database import transaction
from turnloom.models.ledger import conversations, tenants
from turnloom.tools.command_output import json_option, print_json
from turnloom.workers.cli.spans import Span
from turnloom.workers.upkeep import retention


@click.command
@click.option("--older-than", "age", type=Span(), required=True, help="Time without a change, such as 180d.")
@click.option("--tenant", "tenant_name", help="Only this tenant's conversations.  [default: all, and channels]")
@click.option("--dry-run", is_flag=True, help="Only count what would be removed.")
@json_option
def prune(age: timedelta, tenant_name: str | None, dry_run: bool, as_json: bool) -> None:
    """Remove the turns of conversations that have not changed for a time, and old items of channels and replays.

    What they said is erased as by the API. Their audit log stays, without content, and so do the sums of usage. It can
    be stopped at any time, and goes on where it was.
    """
    age_s = int(age.total_seconds())
    with transaction() as db:
        tenant_id = tenants.find(db, tenant_name).id if tenant_name else None
        idle, turns = conversations.count_idle(db, tenant_id, age_s)
    items = old_replays = 0
    if not dry_run:
        turns, idled = 0, retention.prune_conversations(tenant_id, age_s)
        with click.progressbar(idled, length=idle, label="pruning", file=sys.stderr) as shown:
            idle = 0
            for number in shown:
                idle, turns = idle + 1, turns + number
        items = retention.prune_channel_items(age_s) if tenant_id is None else 0
        old_replays = retention.prune_replays(tenant_id, age_s)
    if as_json:
        print_json(
            {"conversations": idle, "turns": turns, "channel_items": items, "replays": old_replays, "dry_run": dry_run}
        )
    else:
        beside = "" if dry_run else f", {items} items of channels, and {old_replays} replays and imported conversations"
        click.echo(f"{'would remove' if dry_run else 'removed'} {turns} turns of {idle} conversations{beside}")
