"""Manage the hotels whose rooms a tenant offers: `turnloom hotel …`."""

from pathlib import Path

import click

from turnloom.models.connections.database import transaction
from turnloom.models.ledger import tenants
from turnloom.tools.command_output import json_option, print_rows
from turnloom.tools.packs.hotel.catalogue import read_catalogue
from turnloom.tools.packs.hotel.store import inventory


@click.group
def hotel() -> None:
    """Manage the hotels of the inventory."""


@hotel.command("load")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--tenant", required=True, help="Tenant that the hotel belongs to.")
def load_hotel(file: Path, tenant: str) -> None:
    """Load a hotel from a file. It replaces the tenant's hotel of the same id; what guests have booked stays."""
    catalogue = read_catalogue(file)
    with transaction() as db:
        changed = inventory.load(db, tenants.find(db, tenant).id, catalogue)
    click.echo(f"{'loaded' if changed else 'nothing new in'} hotel {catalogue.hotel['id']} of tenant {tenant}")


@hotel.command("list")
@click.option("--tenant", required=True, help="Name of the tenant.")
@json_option
def list_hotels(tenant: str, as_json: bool) -> None:
    """List the hotels that a tenant's turns see: its own, or the demo hotel if it has none."""
    with transaction() as db:
        hotels = inventory.hotels_of(db, tenants.find(db, tenant).id)
    rows = [{"id": found.id, "name": found.name, "currency": found.currency} for found in hotels]
    print_rows(["id", "name", "currency"], rows, as_json=as_json)
