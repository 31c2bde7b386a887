"""Show prompts, reply templates and styles, and replace them by a tenant's own: `turnloom prompts`."""

import click

from turnloom.models.connections.database import transaction
from turnloom.models.errors import NotFound
from turnloom.models.ledger import overrides, tenants
from turnloom.planner.tenant_texts import Tailored
from turnloom.tools.command_output import json_option, print_json, print_rows
from turnloom.workers.cli.overrides import add_changing, for_tenant, in_effect


@click.group
def prompts() -> None:
    """Show the texts under prompts/, and replace them by a tenant's own."""


@prompts.command("list")
@for_tenant
@json_option
def list_prompts(tenant_name: str | None, as_json: bool) -> None:
    """List the texts under prompts/: the version in effect, its source, and why a tenant's text is refused."""
    own, tailored = in_effect(tenant_name)
    rows = []
    for name in tailored.names():
        refused = tailored.refused.get(name)
        origin = own.texts[name].origin if name in own.texts and not refused else "shipped"
        rows.append({"name": name, "source": _source(tailored, name), "origin": origin, "refused": refused})
    print_rows(["name", "source", "origin", "refused"], rows, as_json=as_json)


def _source(tailored: Tailored, name: str) -> str | None:
    """Return the source of the text in effect; None if a tenant's text is refused and nothing is shipped for it."""
    try:
        return tailored.source(name)
    except NotFound:
        return None


@prompts.command("show")
@click.argument("name")
@for_tenant
@click.option("--version", type=int, default=None, help="Print the text of this version of the tenant's overrides.")
@json_option
def show_prompt(name: str, tenant_name: str | None, version: int | None, as_json: bool) -> None:
    """Print the text of a prompt."""
    if version is None:
        tailored = in_effect(tenant_name)[1]
        text, source = tailored.text(name), tailored.source(name)
    elif tenant_name is None:
        raise click.UsageError("--version is a version of a tenant's overrides: name the tenant with --tenant")
    else:
        with transaction() as db:
            row = overrides.at_version(db, tenants.find(db, tenant_name).id, name, version)
        text, source = row.text or "", f"version {version}"
    if as_json:
        print_json({"name": name, "source": source, "text": text})
    else:
        click.echo(text, nl=False)


add_changing(prompts, "")
