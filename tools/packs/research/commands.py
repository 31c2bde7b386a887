"""Manage the documents that research searches: `turnloom documents …`."""

from dataclasses import asdict
from pathlib import Path
from uuid import UUID

import click
from rich.console import Console
from rich.progress import track

from turnloom.models.connections.database import transaction
from turnloom.models.ledger import tenants
from turnloom.models.tables.base import EVERYONE
from turnloom.tools.command_output import json_option, print_rows
from turnloom.tools.packs.research.collections import Collection, files_in, load
from turnloom.tools.packs.research.store import documents as ledger


@click.group
def documents() -> None:
    """Manage the documents that research searches."""


@documents.command("load")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--tenant", help="Tenant that the documents belong to.  [default: every tenant without its own]")
@click.option("--name", help="Name of the collection.  [default: the folder's name]")
@click.option("--language", default="english", show_default=True, help="Language of the documents.")
def load_documents(folder: Path, tenant: str | None, name: str | None, language: str) -> None:
    """Load a folder's Markdown, text and HTML files as a collection. Documents no longer in the folder are removed."""
    owner = _owner(tenant)
    collection = Collection(name=name or folder.resolve().name, owner=owner, folder=folder, language=language)
    console = Console(stderr=True, soft_wrap=True)
    files = track(files_in(folder), "loading", console=console, transient=True, disable=not console.is_terminal)
    loaded = load(collection, files, lambda path, why: click.echo(f"left out {path}: {why}", err=True))
    click.echo(
        f"{collection.name}: {loaded.changed} loaded, {loaded.same} the same, {loaded.removed} removed"
        f" for {f'tenant {tenant}' if tenant else 'every tenant without its own'}"
    )


@documents.command("list")
@click.option("--tenant", required=True, help="Name of the tenant.")
@json_option
def list_documents(tenant: str, as_json: bool) -> None:
    """List the documents that a tenant's turns can search: its own, or everyone's if it has none."""
    with transaction() as db:
        found = ledger.listed(db, tenants.find(db, tenant).id)
    print_rows(["id", "title", "language", "modified", "passages"], [asdict(each) for each in found], as_json=as_json)


def _owner(tenant: str | None) -> UUID:
    if tenant is None:
        return EVERYONE
    with transaction() as db:
        return tenants.find(db, tenant).id
