"""Release a text or a language model to a share of a tenant's conversations: `turnloom rollout …`."""

from typing import IO, Any
from uuid import UUID

import click
from pydantic import ValidationError

from turnloom.models.connections.database import snapshot, transaction
from turnloom.models.contracts.override import LARGEST_TEXT
from turnloom.models.contracts.rollout import RolloutRequest
from turnloom.models.errors import Invalid
from turnloom.models.ledger import rollouts, tenants
from turnloom.models.ledger.override_cache import read_overrides
from turnloom.models.ledger.rollouts import RolloutEnd
from turnloom.models.runtime.logging import log
from turnloom.models.runtime.value_faults import faults_of
from turnloom.planner.tenant_texts import rolled_out_text
from turnloom.tools.command_output import json_option, print_json, print_rows
from turnloom.workers.cli.quality import show_lines
from turnloom.workers.cli.user_name import user_name

_COLUMNS = ["id", "name", "share", "outcome", "created_by", "created_at", "ended_at", "reason"]

_of_tenant = click.option("--tenant", "tenant_name", required=True, help="Tenant whose conversations take part.")
_by = click.option("--by", default=user_name, show_default="your user name", help="Who you are; kept with the rollout.")
_rollout = click.argument("rollout_id", metavar="ROLLOUT", type=click.UUID)


@click.group
def rollout() -> None:
    """Give a share of a tenant's conversations a new text or language model, and take it back if it does worse."""


@rollout.command("start")
@click.argument("name")
@click.argument("file", type=click.File(encoding="utf-8"), required=False)
@_of_tenant
@click.option("--share", type=float, required=True, help="Share of conversations that get it, such as 0.1.")
@click.option("--llm", default=None, help="Instead of a FILE: the language model that the agent is to use.")
@click.option("--max-worse", type=float, default=0.05, show_default=True, help="How much worse its rates may be.")
@click.option("--min-turns", type=int, default=20, show_default=True, help="Turns before it can be taken back.")
@_by
@json_option
def start(name: str, file: IO[str] | None, tenant_name: str, by: str, as_json: bool, **asked: Any) -> None:
    """Start to give a share of conversations the text in FILE (`-` reads standard input) in place of NAME.

    NAME is a path under prompts/ without its ending, such as agents/hotel or styles/brief. A conversation keeps its
    text until the rollout ends. It is taken back by itself if the rate of failed turns, or of ungrounded replies, is
    above the old text's by more than --max-worse, and chance does not explain it.
    """
    text = file.read(LARGEST_TEXT + 1) if file else None
    try:
        request = RolloutRequest(name=name, text=text, **asked)
    except ValidationError as error:
        raise Invalid(faults_of(error)) from None
    tenant_id = _id(tenant_name)
    checked = rolled_out_text(request, read_overrides(tenant_id))
    with transaction() as db:
        row = rollouts.start(db, tenant_id, request, checked, by)
    log.info("rollout.started", rollout_id=str(row.id), name=name, share=request.share)
    if as_json:
        print_json(rollouts.view(row).model_dump(mode="json"))
    else:
        click.echo(f"{row.id}: {name} for {request.share:.0%} of {tenant_name}'s conversations, within seconds")


@rollout.command("list")
@_of_tenant
@click.option("--limit", type=click.IntRange(1, 1000), default=50, show_default=True, help="Rollouts, at most.")
@json_option
def list_rollouts(tenant_name: str, limit: int, as_json: bool) -> None:
    """List a tenant's rollouts, the newest first."""
    with transaction() as db:
        found = rollouts.listed(db, tenants.find(db, tenant_name).id, limit)
    rows = [rollouts.view(row).model_dump(mode="json") for row in found]
    print_rows(_COLUMNS, [{**row, "outcome": row["outcome"] or "running"} for row in rows], as_json=as_json)


@rollout.command("show")
@_rollout
@_of_tenant
@json_option
def show(rollout_id: UUID, tenant_name: str, as_json: bool) -> None:
    """Show a rollout, and how turns with the new text went beside those with the old one."""
    with snapshot() as db:
        found = rollouts.report(db, tenants.find(db, tenant_name).id, rollout_id)
    if as_json:
        print_json(found.model_dump(mode="json"))
        return
    its = found.rollout
    click.echo(f"{its.name} for {its.share:.0%}: {its.outcome or 'running'}{f'; {its.reason}' if its.reason else ''}")
    lines = {name: line for name, line in (("new", found.new), ("old", found.old)) if line is not None}
    show_lines([], list(lines.values()), text=list(lines))


@rollout.command("stop")
@_rollout
@_of_tenant
@_by
@json_option
def stop(rollout_id: UUID, tenant_name: str, by: str, as_json: bool) -> None:
    """End a rollout: all conversations have the old text again, from their next turn on."""
    _end(rollout_id, tenant_name, RolloutEnd("stopped", by), as_json=as_json)


@rollout.command("promote")
@_rollout
@_of_tenant
@_by
@json_option
def promote(rollout_id: UUID, tenant_name: str, by: str, as_json: bool) -> None:
    """End a rollout and make its text the tenant's own, for all conversations."""
    _end(rollout_id, tenant_name, RolloutEnd("promoted", by), as_json=as_json)


def _end(rollout_id: UUID, tenant_name: str, ending: RolloutEnd, *, as_json: bool) -> None:
    with transaction() as db:
        row = rollouts.end_by_hand(db, tenants.find(db, tenant_name).id, rollout_id, ending)
    log.info("rollout.ended", rollout_id=str(rollout_id), outcome=ending.outcome, by=ending.by)
    if as_json:
        print_json(rollouts.view(row).model_dump(mode="json"))
    else:
        click.echo(f"{ending.outcome} {row.name}; it counts within seconds")


def _id(tenant_name: str) -> UUID:
    with transaction() as db:
        return tenants.find(db, tenant_name).id
