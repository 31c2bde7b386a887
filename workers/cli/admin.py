"""Migrate the database, and manage tenants: `turnloom migrate`, `tenant …`."""

from urllib.parse import urlsplit

import click

from turnloom.models.connections.database import transaction
from turnloom.models.ledger import callback_secrets, keys, tenants
from turnloom.models.runtime.settings import settings
from turnloom.models.schema.migration import drop_tables, set_defaults, upgrade
from turnloom.models.schema.roles import APPLICATION_ROLE
from turnloom.tools.command_output import json_option, print_json, print_rows
from turnloom.tools.pack_index import branches, find_packs
from turnloom.workers.cli.demo_users import put_demo_users
from turnloom.workers.cli.limits import limits
from turnloom.workers.cli.usage import budget


@click.command
@click.option("--with-dev-key", is_flag=True, hidden=True, help="Also make TURNLOOM_DEV_KEY a key with all scopes.")
@click.option("--drop", "dropped", metavar="PACK", help="Instead, drop the tables of a plug-in, with all rows.")
def migrate(with_dev_key: bool, dropped: str | None) -> None:
    """Bring the database up to date. Set TURNLOOM_OWNER_DATABASE_URL if another role owns the tables."""
    owner_url = settings().owner_database_url or settings().database_url
    of_packs = branches(settings().packs)
    if dropped is not None:
        drop_tables(owner_url, dropped, of_packs)
        click.echo(f"dropped the tables of {dropped}: now take it out of TURNLOOM_PACKS")
        return
    application_role = urlsplit(settings().database_url).username or APPLICATION_ROLE
    upgrade(owner_url, application_role, of_packs)
    if settings().database_pooled:
        set_defaults(settings().database_url)
    dev_key = settings().dev_key
    if with_dev_key and dev_key:
        with transaction() as db:
            keys.ensure_dev_key(db, dev_key)
            put_demo_users(db, tenants.find(db, keys.DEVELOPMENT_TENANT).id)
    for pack in find_packs(settings().packs):
        if samples := pack.part("samples"):
            samples.load()
    click.echo("the database is up to date")


@click.group
def tenant() -> None:
    """Manage tenants. Each sees only its own data."""


@tenant.command("create")
@click.argument("name")
@json_option
def create_tenant(name: str, as_json: bool) -> None:
    """Create a tenant."""
    with transaction() as db:
        tenant_id = tenants.create(db, name)
    if as_json:
        print_json({"id": tenant_id, "name": name})
    else:
        click.echo(f"created tenant {name} ({tenant_id})")


@tenant.command("list")
@json_option
def list_tenants(as_json: bool) -> None:
    """List all tenants."""
    with transaction() as db:
        rows = [{"id": row.id, "name": row.name, "created_at": row.created_at} for row in tenants.listed(db)]
    print_rows(["id", "name", "created_at"], rows, as_json=as_json)


@tenant.command("secret")
@click.argument("name")
@click.option("--rotate", "rotated", is_flag=True, help="Make a new one. For a day the one before signs, too.")
@json_option
def show_secret(name: str, rotated: bool, as_json: bool) -> None:
    """Show the secret that signs a tenant's callbacks. It is shown only once."""
    show = callback_secrets.rotate if rotated else callback_secrets.reveal
    with transaction() as db:
        secret = show(db, tenants.find(db, name).id)
    if as_json:
        print_json({"tenant": name, "secret": secret})
    else:
        click.echo(f"{secret}\n(keep it now, it is not shown again)")


tenant.add_command(budget)
tenant.add_command(limits)
