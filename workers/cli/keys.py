"""Manage keys to the API: `turnloom key …`."""

from datetime import timedelta
from uuid import UUID

import click

from turnloom.models.connections.database import transaction
from turnloom.models.contracts.scope import SCOPES
from turnloom.models.ledger import keys, tenants
from turnloom.tools.command_output import json_option, print_json, print_rows
from turnloom.workers.cli.spans import Span


@click.group
def key() -> None:
    """Manage API keys."""


def _scopes(_context: click.Context, _parameter: click.Parameter, value: str) -> list[str]:
    wanted = [scope.strip() for scope in value.split(",") if scope.strip()]
    if unknown := sorted(set(wanted) - set(SCOPES)):
        raise click.BadParameter(f"there is no scope {', '.join(unknown)}; there are {', '.join(SCOPES)}")
    if not wanted:
        raise click.BadParameter(f"name at least one of {', '.join(SCOPES)}")
    return wanted


@key.command("create")
@click.option("--tenant", "tenant_name", required=True, help="Tenant that the key belongs to.")
@click.option("--scopes", required=True, callback=_scopes, help=f"Scopes, separated by commas: {', '.join(SCOPES)}.")
@click.option("--name", default="key", show_default=True, help="Name of the key.")
@click.option("--lasts", type=Span(), help="How long it works, such as 90d.  [default: for ever]")
@json_option
def create_key(tenant_name: str, scopes: list[str], name: str, lasts: timedelta | None, as_json: bool) -> None:
    """Create a key. It is shown only once: the database keeps nothing but its digest."""
    with transaction() as db:
        key_id, plain = keys.create(db, tenants.find(db, tenant_name).id, name, scopes, lasts)
    if as_json:
        print_json({"id": key_id, "key": plain, "tenant": tenant_name, "name": name, "scopes": scopes})
    else:
        click.echo(f"{plain}\n(id {key_id}; keep it now, it cannot be shown again)")


@key.command("rotate")
@click.argument("key_id", type=click.UUID)
@click.option("--overlap", type=Span(), default="1d", show_default=True, help="How long the old key still works.")
@json_option
def rotate_key(key_id: UUID, overlap: timedelta, as_json: bool) -> None:
    """Replace a key by another one with the same name, scopes and lifetime. The old one works for the overlap."""
    with transaction() as db:
        new_id, plain = keys.rotate(db, key_id, overlap)
    if as_json:
        print_json({"id": new_id, "key": plain, "replaces": key_id})
    else:
        click.echo(f"{plain}\n(id {new_id}; keep it now, it cannot be shown again)")


@key.command("list")
@click.option("--tenant", "tenant_name", required=True, help="Tenant whose keys to list.")
@json_option
def list_keys(tenant_name: str, as_json: bool) -> None:
    """List a tenant's keys, including those that work no more."""
    columns = ["id", "name", "scopes", "created_at", "last_used_at", "expires_at", "revoked_at"]
    with transaction() as db:
        found = keys.of_tenant(db, tenants.find(db, tenant_name).id)
        rows = [{column: getattr(row, column) for column in columns} for row in found]
    print_rows(columns, rows, as_json=as_json)


@key.command("revoke")
@click.argument("key_id", type=click.UUID)
@json_option
def revoke_key(key_id: UUID, as_json: bool) -> None:
    """Revoke a key, from now on."""
    with transaction() as db:
        keys.revoke(db, key_id)
    if as_json:
        print_json({"id": key_id, "revoked": True})
    else:
        click.echo(f"revoked {key_id}")
