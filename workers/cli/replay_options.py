"""Options that several commands of `turnloom replay` have."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

import click
from pydantic import ValidationError

from turnloom.models.connections.database import transaction
from turnloom.models.contracts.base import Contract
from turnloom.models.errors import NotFound
from turnloom.models.ledger import tenants
from turnloom.models.runtime.value_faults import faults_of
from turnloom.workers.cli.fault_option import FaultFileType

_Command = TypeVar("_Command", bound=Callable[..., Any])
_Choices = TypeVar("_Choices", bound=Contract)

tenant_option = click.option("--tenant", "tenant_name", default=None, help="Whose.  [default: the only tenant]")

_SOURCE = (
    click.option(
        "--tools",
        type=click.Choice(["recorded", "live-read", "simulated"]),
        default="recorded",
        show_default=True,
        help="Where tool results come from.",
    ),
    click.option("--faults", type=FaultFileType(), help="With `simulated`: a fault file."),
    click.option("--model", help="Language model in place of the recorded ones."),
    click.option(
        "--prompts",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="Folder like prompts/ whose texts replace those in effect.",
    ),
)


def source_options(command: _Command) -> _Command:
    """Add the options that say where results, plans and replies come from."""
    for option in reversed(_SOURCE):
        command = option(command)
    return command


def read_choices(contract: type[_Choices], fields: Mapping[str, Any]) -> _Choices:
    """Return the choices of a command as a contract. The error of one that breaks a rule names its field.

    Raises:
        UsageError: a choice breaks a rule of the contract.
    """
    try:
        return contract.model_validate(fields)
    except ValidationError as error:
        raise click.UsageError(faults_of(error)) from error


def tenant_of(name: str | None) -> UUID:
    """Return the id of a tenant; without a name, of the only one.

    Raises:
        NotFound: there is no such tenant, or not exactly one.
    """
    with transaction() as db:
        if name is not None:
            return tenants.find(db, name).id
        found = tenants.listed(db)
    if len(found) != 1:
        raise NotFound(f"there are {len(found)} tenants: name one with --tenant")
    return found[0].id
