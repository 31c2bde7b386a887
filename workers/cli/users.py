"""Manage a tenant's users, what they allow tools to do, and their connections: `turnloom user …`."""

from typing import Any

import click
from pydantic import TypeAdapter, ValidationError

from turnloom.models.connections.database import Transaction, transaction
from turnloom.models.contracts.turn import Identifier
from turnloom.models.contracts.users import Profile
from turnloom.models.errors import Invalid
from turnloom.models.ledger import integrations, tenants, users
from turnloom.models.ledger.users import DirectoryUser
from turnloom.models.runtime.value_faults import faults_of
from turnloom.tools.command_output import json_option, print_json, print_rows
from turnloom.tools.erasure import erase_user
from turnloom.workers.cli.accounts import shown_account

_COLUMNS = ["id", "name", "email", "timezone", "locale", "scopes"]
_IDENTIFIER: TypeAdapter[str] = TypeAdapter(Identifier)
_MANY = 1_000

of_tenant = click.option("--tenant", "tenant_name", required=True, help="Tenant whose directory to use.")


@click.group
def user() -> None:
    """Manage the users that a tenant's turns act for."""


def _commas(_context: click.Context, _parameter: click.Parameter, value: str | None) -> list[str] | None:
    return None if value is None else [part.strip() for part in value.split(",") if part.strip()]


def _hours(_context: click.Context, _parameter: click.Parameter, value: tuple[str, ...]) -> dict[str, list[str]] | None:
    """Read `mon=09:00-17:00`, once for each working day."""
    return {day: hours.split("-") for day, _, hours in (one.partition("=") for one in value)} or None


@user.command("put")
@click.argument("user_id")
@of_tenant
@click.option("--name", help="Name that others find the user by; required for a new user.")
@click.option("--email")
@click.option("--timezone", help="Timezone, such as Asia/Jerusalem.  [default: TURNLOOM_DEFAULT_TIMEZONE]")
@click.option("--locale", help="Locale, such as en or he-IL.  [default: en]")
@click.option(
    "--hours",
    "working_hours",
    multiple=True,
    callback=_hours,
    metavar="DAY=FROM-UNTIL",
    help="Working hours, such as mon=09:00-17:00, once per working day.  [default: Monday to Friday, nine to five]",
)
@click.option("--scopes", callback=_commas, help="Scopes that the user allows tools, separated by commas.")
@json_option
def put_user(user_id: str, tenant_name: str, as_json: bool, **given: Any) -> None:
    """Add a user to the directory, or change the given fields of an existing one."""
    changes = {name: value for name, value in given.items() if value is not None}
    with transaction() as db:
        tenant_id = tenants.find(db, tenant_name).id
        before = users.find_user(db, tenant_id, user_id)
        kept = {} if before is None else {name: getattr(before, name) for name in Profile.model_fields}
        profile = _profile(user_id, {**kept, "scopes": sorted(kept.get("scopes", ())), **changes})
        users.put_user(db, tenant_id, user_id, profile)
    if as_json:
        print_json({"id": user_id, **profile.model_dump(mode="json")})
    else:
        click.echo(f"{'changed' if before else 'put'} user {user_id} of {tenant_name}")


@user.command("list")
@of_tenant
@json_option
def list_users(tenant_name: str, as_json: bool) -> None:
    """List a tenant's users."""
    with transaction() as db:
        tenant_id = tenants.find(db, tenant_name).id
        found: list[DirectoryUser] = []
        while page := users.listed(db, tenant_id, found[-1].id if found else "", _MANY):
            found += page
    print_rows(_COLUMNS, [_shown(each) for each in found], as_json=as_json)


@user.command("show")
@click.argument("user_id")
@of_tenant
@json_option
def show_user(user_id: str, tenant_name: str, as_json: bool) -> None:
    """Show a user, their accounts and their connections, but never a secret."""
    with transaction() as db:
        shown = _whole(db, tenant_name, user_id)
    if as_json:
        print_json(shown)
    else:
        print_rows(["what", "value"], [{"what": name, "value": value} for name, value in shown.items()], as_json=False)


@user.command("erase")
@click.argument("user_id")
@of_tenant
@json_option
def erase(user_id: str, tenant_name: str, as_json: bool) -> None:
    """Erase a user, their accounts and connections, and what every conversation in which they wrote says."""
    with transaction() as db:
        number = erase_user(db, tenants.find(db, tenant_name).id, user_id)
    if as_json:
        print_json({"id": user_id, "conversations": number})
    else:
        click.echo(f"erased {user_id} and {number} conversations")


@user.command("grant")
@click.argument("user_id")
@click.argument("scopes", nargs=-1, required=True)
@of_tenant
def grant(user_id: str, scopes: tuple[str, ...], tenant_name: str) -> None:
    """Add scopes, which let tools do more for a user."""
    with transaction() as db:
        held = users.grant(db, tenants.find(db, tenant_name).id, user_id, scopes)
    click.echo(f"{user_id} allows {', '.join(held)}")


@user.command("revoke")
@click.argument("user_id")
@click.argument("scopes", nargs=-1, required=True)
@of_tenant
def revoke(user_id: str, scopes: tuple[str, ...], tenant_name: str) -> None:
    """Remove scopes, which let tools do less for a user from the next call on."""
    with transaction() as db:
        held = users.revoke(db, tenants.find(db, tenant_name).id, user_id, scopes)
    click.echo(f"{user_id} allows {', '.join(held) or 'nothing'}")


@user.command("connect")
@click.argument("one")
@click.argument("other")
@of_tenant
def connect(one: str, other: str, tenant_name: str) -> None:
    """Connect two users, so that each can propose meetings to the other."""
    with transaction() as db:
        users.connect(db, tenants.find(db, tenant_name).id, one, other)
    click.echo(f"{one} and {other} are connected")


@user.command("disconnect")
@click.argument("one")
@click.argument("other")
@of_tenant
def disconnect(one: str, other: str, tenant_name: str) -> None:
    """Switch off the connection of two users."""
    with transaction() as db:
        users.connect(db, tenants.find(db, tenant_name).id, one, other, "inactive")
    click.echo(f"{one} and {other} are no longer connected")


def _profile(user_id: str, fields: dict[str, Any]) -> Profile:
    try:
        _IDENTIFIER.validate_python(user_id)
        return Profile.model_validate(fields)
    except ValidationError as error:
        raise Invalid(faults_of(error, "id")) from None


def _shown(found: DirectoryUser) -> dict[str, Any]:
    return {name: getattr(found, name) for name in _COLUMNS} | {"scopes": sorted(found.scopes)}


def _whole(db: Transaction, tenant_name: str, user_id: str) -> dict[str, Any]:
    tenant_id = tenants.find(db, tenant_name).id
    found = users.get_user(db, tenant_id, user_id)
    known = users.connections_of(db, tenant_id, user_id)
    return {
        **_shown(found),
        "working_hours": found.working_hours,
        "accounts": [shown_account(each) for each in integrations.accounts_of(db, tenant_id, user_id)],
        "connections": [{"user": each.user.id, "name": each.user.name, "is_active": each.is_active} for each in known],
    }
