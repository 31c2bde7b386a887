"""Manage users' accounts with outside services, and the keys that encrypt their secrets.

Commands: `turnloom account …` and `turnloom secrets …`.
"""

from collections.abc import Mapping
from typing import IO, Any
from uuid import UUID

import click
import orjson
from pydantic import ValidationError

from turnloom.models.connections.database import transaction
from turnloom.models.contracts.users import AccountRequest
from turnloom.models.errors import Invalid, Unavailable
from turnloom.models.ledger import integrations, tenants
from turnloom.models.ledger.integrations import Account
from turnloom.models.runtime import secrets
from turnloom.models.runtime.value_faults import faults_of
from turnloom.tools.command_output import json_option, print_json, print_rows
from turnloom.tools.http.addresses import check_url

_COLUMNS = ["integration", "status", "settings", "has_secret", "updated_at"]
_FIRST = UUID(int=0)

_of_tenant = click.option("--tenant", "tenant_name", required=True, help="Tenant of the user.")


@click.group
def account() -> None:
    """Manage users' accounts with outside services."""


@account.command("put")
@click.argument("user_id")
@click.argument("integration")
@_of_tenant
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="Setting that is not secret; repeatable.")
@click.option(
    "--secret",
    type=click.File(encoding="utf-8"),
    help="A file with the secret as a JSON object; `-` reads it from standard input.",
)
@click.option("--inactive", is_flag=True, help="Keep the account, but let no tool use it.")
def put_account(
    user_id: str,
    integration: str,
    tenant_name: str,
    settings: tuple[str, ...],
    secret: IO[str] | None,
    *,
    inactive: bool,
) -> None:
    """Connect a user's account, or replace it. The secret is kept encrypted."""
    request = _request(dict(_setting(each) for each in settings), secret, "inactive" if inactive else "active")
    if "url" in request.settings:
        check_url(request.settings["url"])
    with transaction() as db:
        integrations.put_account(db, tenants.find(db, tenant_name).id, user_id, integration, request)
    click.echo(f"account of {user_id} with {integration} is {request.status}")


@account.command("list")
@click.argument("user_id")
@_of_tenant
@json_option
def list_accounts(user_id: str, tenant_name: str, as_json: bool) -> None:
    """List a user's accounts, without their secrets."""
    with transaction() as db:
        found = integrations.accounts_of(db, tenants.find(db, tenant_name).id, user_id)
    print_rows(_COLUMNS, [shown_account(each) for each in found], as_json=as_json)


@account.command("remove")
@click.argument("user_id")
@click.argument("integration")
@_of_tenant
def remove_account(user_id: str, integration: str, tenant_name: str) -> None:
    """Forget a user's account and its secret."""
    with transaction() as db:
        integrations.remove_account(db, tenants.find(db, tenant_name).id, user_id, integration)
    click.echo(f"removed the account of {user_id} with {integration}")


@click.group("secrets")
def secret_keys() -> None:
    """Manage the keys that encrypt users' tokens and passwords, and what signs callbacks."""


@secret_keys.command("new-key")
def new_key() -> None:
    """Generate a key for TURNLOOM_SECRET_KEYS and print it."""
    click.echo(secrets.new_key())


@secret_keys.command("rotate")
@json_option
def rotate(as_json: bool) -> None:
    """Encrypt every secret that another key encrypted with the first of TURNLOOM_SECRET_KEYS.

    This may be stopped and run again at any time, also beside running workers. Every process must know the new key
    before you begin, and the old one until this is done. Exits with 1 if no key can read one of the secrets.
    """
    done = 0
    unreadable: list[UUID] = []
    for table in integrations.SEALED:
        last: UUID | None = _FIRST
        while last is not None:
            with transaction() as db:
                rotated = integrations.rotate(db, last, table)
            done, last = done + rotated.done, rotated.last
            unreadable += rotated.unreadable
    if as_json:
        print_json({"rotated": done, "unreadable": unreadable})
    else:
        click.echo(f"{done} secrets are now encrypted with the first key")
    if unreadable:
        raise Unavailable(f"none of the keys made the secrets with the ids {', '.join(map(str, unreadable))}")


def shown_account(account: Account) -> dict[str, Any]:
    """Return everything about an account except its secret."""
    shown = {name: getattr(account, name) for name in ("id", "integration", "status", "settings", "updated_at")}
    return shown | {"has_secret": account.sealed is not None}


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise click.BadParameter(f"write NAME=VALUE, not {text!r}", param_hint="--set")
    return name, value


def _request(settings: Mapping[str, str], secret: IO[str] | None, status: str) -> AccountRequest:
    """Return the account to connect. Errors name the faulty field but not its value, which may be a secret."""
    try:
        given = None if secret is None else orjson.loads(secret.read())
        return AccountRequest.model_validate({"settings": settings, "secret": given, "status": status})
    except orjson.JSONDecodeError:
        raise Invalid('the secret is not a JSON object; write one such as {"password": "…"}') from None
    except ValidationError as error:
        raise Invalid(faults_of(error)) from None
