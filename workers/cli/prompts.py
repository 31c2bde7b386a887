"""`turnloom prompts`: which prompts, reply templates and styles there are, and a tenant's own in their place."""

import click

from models.connections.database import transaction
from models.errors import NotFound
from models.ledger import overrides, tenants
from planner.tenant_texts import Tailored
from workers.cli.output import json_option, print_json, print_rows
from workers.cli.overrides import add_changing, for_tenant, in_effect


@click.group
def prompts() -> None:
    """Show what stands under prompts/, and put a tenant's own in its place."""


@prompts.command("list")
@for_tenant
@json_option
def list_prompts(tenant_name: str | None, as_json: bool) -> None:
    """List all there is under prompts/: the version in effect, where it is from, and why a tenant's text is refused."""
    own, tailored = in_effect(tenant_name)
    rows = []
    for name in tailored.names():
        refused = tailored.refused.get(name)
        origin = own.texts[name].origin if name in own.texts and not refused else "shipped"
        rows.append({"name": name, "source": _source(tailored, name), "origin": origin, "refused": refused})
    print_rows(["name", "source", "origin", "refused"], rows, as_json=as_json)


def _source(tailored: Tailored, name: str) -> str | None:
    """Return the source of what counts; None where a text is refused that nothing shipped stands behind."""
    try:
        return tailored.in_effect(name)[1]
    except NotFound:
        return None


@prompts.command("show")
@click.argument("name")
@for_tenant
@click.option("--version", type=int, default=None, help="As this version of the tenant's overrides had it.")
@json_option
def show_prompt(name: str, tenant_name: str | None, version: int | None, as_json: bool) -> None:
    """Print the text of a prompt."""
    if version is None:
        text, source = in_effect(tenant_name)[1].in_effect(name)
    elif tenant_name is None:
        raise click.UsageError("--version is one of a tenant's overrides: name it with --tenant")
    else:
        with transaction() as db:
            row = overrides.at_version(db, tenants.find(db, tenant_name).id, name, version)
        text, source = row.text or "", f"version {version}"
    if as_json:
        print_json({"name": name, "source": source, "text": text})
    else:
        click.echo(text, nl=False)


add_changing(prompts, "")
