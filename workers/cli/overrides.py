"""Replace shipped prompts and agents by a tenant's own texts: `set`, `remove`, `diff` and `history`."""

import difflib
from typing import IO
from uuid import UUID

import click

from turnloom.models.connections.database import transaction
from turnloom.models.contracts.override import LARGEST_TEXT, NO_OVERRIDES, Overrides
from turnloom.models.errors import NotFound
from turnloom.models.ledger import overrides, tenants
from turnloom.models.ledger.override_cache import read_overrides
from turnloom.models.runtime.settings import settings
from turnloom.planner.tenant_texts import Tailored, assemble, unsaid_texts
from turnloom.tools.command_output import json_option, print_json, print_rows

for_tenant = click.option("--tenant", "tenant_name", default=None, help="Show them as this tenant has them.")
_of_tenant = click.option("--tenant", "tenant_name", required=True, help="Tenant that the text belongs to.")
_by = click.option("--by", default="operator", show_default=True, help="Who makes the change, for the history.")


def in_effect(tenant_name: str | None) -> tuple[Overrides, Tailored]:
    """Return a tenant's own texts and what is in effect for it; without a tenant, what is shipped."""
    if tenant_name is None:
        return NO_OVERRIDES, assemble(NO_OVERRIDES, settings().prompts_dir)
    own = read_overrides(_id(tenant_name))
    return own, assemble(own, settings().prompts_dir)


def add_changing(group: click.Group, folder: str) -> None:
    """Give a group the commands that change a tenant's texts. Names are paths in this folder of prompts/."""
    group.add_command(_setting(folder))
    group.add_command(_removing(folder))
    group.add_command(_diff(folder))
    group.add_command(_history(folder))


def _setting(folder: str) -> click.Command:
    @click.command("set")
    @click.argument("name")
    @click.argument("file", type=click.File(encoding="utf-8"))
    @_of_tenant
    @_by
    @json_option
    def set_text(name: str, file: IO[str], tenant_name: str, by: str, as_json: bool) -> None:
        """Replace the shipped text by the one in FILE (`-` reads standard input). It is checked first."""
        text = file.read(LARGEST_TEXT + 1)
        tailored = in_effect(tenant_name)[1].with_text(folder + name, text)
        source = tailored.source(folder + name)
        for sentence in unsaid_texts(folder + name, text, tailored):
            click.echo(f"Warning: {sentence}", err=True)
        version = _write(folder + name, text, tenant_name, by)
        if as_json:
            print_json({"name": name, "source": source, "version": version})
        else:
            click.echo(f"{source} is version {version} of {tenant_name}'s overrides; it counts within seconds")

    return set_text


def _removing(folder: str) -> click.Command:
    @click.command("remove")
    @click.argument("name")
    @_of_tenant
    @_by
    @json_option
    def remove(name: str, tenant_name: str, by: str, as_json: bool) -> None:
        """Remove a tenant's own text, so that the shipped one counts again. The history keeps it."""
        found = read_overrides(_id(tenant_name)).texts.get(folder + name)
        if found is None or found.origin != "ledger":
            raise NotFound(f"the ledger has no text of {tenant_name!r} for {folder + name!r}")
        version = _write(folder + name, None, tenant_name, by)
        if as_json:
            print_json({"name": name, "version": version})
        else:
            click.echo(f"removed {folder + name} with version {version} of {tenant_name}'s overrides")

    return remove


def _diff(folder: str) -> click.Command:
    @click.command("diff")
    @click.argument("name")
    @_of_tenant
    def diff(name: str, tenant_name: str) -> None:
        """Show how a tenant's text differs from the shipped one; nothing if it has no text of its own."""
        own = in_effect(tenant_name)[1].text(folder + name)
        try:
            shipped = in_effect(None)[1].text(folder + name)
        except NotFound:
            shipped = ""  # only the tenant has this style or agent
        before, after = (text.splitlines(keepends=True) for text in (shipped, own))
        path = folder + name
        lines = difflib.unified_diff(before, after, f"shipped/{path}", f"{tenant_name}/{path}")
        click.echo("".join(lines), nl=False)

    return diff


def _history(folder: str) -> click.Command:
    @click.command("history")
    @click.argument("name")
    @_of_tenant
    @json_option
    def history(name: str, tenant_name: str, as_json: bool) -> None:
        """List the recorded changes, the newest first. `show NAME --version N` prints a text."""
        with transaction() as db:
            rows = overrides.history(db, tenants.find(db, tenant_name).id, folder + name)
        changes = [
            {
                "version": row.version,
                "change": "removed" if row.text is None else "set",
                "created_by": row.created_by,
                "created_at": row.created_at,
            }
            for row in rows
        ]
        print_rows(["version", "change", "created_by", "created_at"], changes, as_json=as_json)

    return history


def _id(tenant_name: str) -> UUID:
    with transaction() as db:
        return tenants.find(db, tenant_name).id


def _write(name: str, text: str | None, tenant_name: str, by: str) -> int:
    with transaction() as db:
        return overrides.write(db, tenants.find(db, tenant_name).id, name, text, by)
