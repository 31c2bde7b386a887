"""Manage the directory: users, their connections with each other, and the accounts that they let us use."""

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from apiflask import APIBlueprint
from flask import Response
from pydantic import TypeAdapter

from turnloom.models.connections.database import Transaction, transaction
from turnloom.models.contracts.turn import Identifier
from turnloom.models.contracts.users import (
    AccountRequest,
    AccountView,
    ConnectionRequest,
    ConnectionView,
    Profile,
    UserPage,
    UserView,
)
from turnloom.models.errors import Invalid, PolicyDenied
from turnloom.models.ledger import integrations
from turnloom.models.ledger import users as ledger
from turnloom.models.ledger.integrations import Account
from turnloom.models.ledger.users import DirectoryUser
from turnloom.models.runtime.logging import log
from turnloom.tools.erasure import erase_user
from turnloom.tools.http.addresses import check_url
from turnloom.web.auth import caller, requires
from turnloom.web.errors import fault
from turnloom.web.json_body import json_response
from turnloom.web.paging import PageQuery, cut, read_cursor
from turnloom.web.url_ids import known_id, known_integration

_IDENTIFIER: TypeAdapter[str] = TypeAdapter(Identifier)

R = TypeVar("R")

blueprint = APIBlueprint("users", __name__, url_prefix="/v1", tag="Users")


def _of_ones_own(view: Callable[..., R]) -> Callable[..., R]:
    """Look for the user before reading the body, so that a 422 tells a stranger nothing about a user."""

    @wraps(view)
    def found(user_id: str, **inputs: object) -> R:
        with transaction(caller().tenant_id) as db:
            ledger.get_user(db, caller().tenant_id, known_id(user_id, "user"))
        return view(user_id, **inputs)

    return found


@blueprint.get("/users")
@requires("users:read")
@blueprint.input(PageQuery, location="query")
@blueprint.output(UserPage)
@blueprint.doc(operation_id="list_users")
def users(query_data: PageQuery) -> Response:
    """List the users of the tenant's directory, by id."""
    after = read_cursor(_IDENTIFIER, query_data.cursor) or ""
    with transaction(caller().tenant_id) as db:
        found = ledger.listed(db, caller().tenant_id, after, query_data.limit + 1)
        accounts = integrations.accounts_by_user(db, caller().tenant_id, [user.id for user in found])
    items = [_view(user, accounts[user.id]) for user in found]
    items, cursor = cut(items, query_data.limit, lambda item: item.id)
    return json_response(UserPage(items=items, next_cursor=cursor))


@blueprint.get("/users/<user:user_id>")
@requires("users:read")
@blueprint.output(UserView)
@blueprint.doc(operation_id="get_user")
def user(user_id: str) -> Response:
    """Show a user with their accounts, but never a secret."""
    with transaction(caller().tenant_id) as db:
        return json_response(_load(db, known_id(user_id, "user")))


@blueprint.put("/users/<user:user_id>")
@requires("users:write")
@blueprint.input(Profile, example={"name": "Noa Levi", "email": "noa@example.com", "timezone": "Asia/Jerusalem"})
@blueprint.output(UserView)
@blueprint.doc(operation_id="put_user")
def put_user(user_id: str, json_data: Profile) -> Response:
    """Create a user, or replace the one with that id. Fields that are left out get their default.

    The id is the one that turns carry in `user.id`. `scopes` says what the user allows tools to do for them.
    """
    with transaction(caller().tenant_id) as db:
        ledger.put_user(db, caller().tenant_id, known_id(user_id, "user"), json_data)
        view = _load(db, user_id)
    log.info("user.put", user_id=user_id, key_id=str(caller().key_id))
    return json_response(view)


@blueprint.delete("/users/<user:user_id>")
@requires("admin")
@blueprint.output({}, 204, description="Erased")
@blueprint.doc(operation_id="erase_user")
def erase(user_id: str) -> Response:
    """Erase a user: the entry in the directory, accounts, connections, and the conversations in which they wrote.

    A conversation is erased as by `DELETE /v1/conversations/{conversation_id}`. While a turn of one of them is in work,
    the answer is 409 and nothing is erased.
    """
    with transaction(caller().tenant_id) as db:
        erase_user(db, caller().tenant_id, known_id(user_id, "user"))
    log.info("user.erased", key_id=str(caller().key_id))
    return Response(status=204)


@blueprint.put("/users/<user:user_id>/accounts/<integration>")
@requires("users:write")
@_of_ones_own
@blueprint.input(
    AccountRequest, example={"settings": {"url": "https://cal.example.com/noa/"}, "secret": {"password": "…"}}
)
@blueprint.output(AccountView)
@blueprint.doc(operation_id="put_account")
def put_account(user_id: str, integration: str, json_data: AccountRequest) -> Response:
    """Connect a user's account with an outside service, or replace it.

    The secret is kept encrypted and never shown again. Use this also to connect an account again after the service has
    refused its secret (`reauth_required`).
    """
    known_integration(integration)
    _check_settings(json_data)
    with transaction(caller().tenant_id) as db:
        account = integrations.put_account(db, caller().tenant_id, user_id, integration, json_data)
    log.info("account.connected", user_id=user_id, integration=integration, key_id=str(caller().key_id))
    return json_response(_account(account))


@blueprint.delete("/users/<user:user_id>/accounts/<integration>")
@requires("users:write")
@blueprint.output({}, 204, description="Forgotten")
@blueprint.doc(operation_id="remove_account")
def remove_account(user_id: str, integration: str) -> Response:
    """Forget a user's account with an outside service, and its secret."""
    with transaction(caller().tenant_id) as db:
        known = known_id(user_id, "user"), known_integration(integration)
        integrations.remove_account(db, caller().tenant_id, *known)
    log.info("account.removed", user_id=user_id, integration=integration, key_id=str(caller().key_id))
    return Response(status=204)


@blueprint.put("/connections")
@requires("users:write")
@blueprint.input(ConnectionRequest, example={"users": ["noa", "david"]})
@blueprint.output(ConnectionView)
@blueprint.doc(operation_id="put_connection")
def put_connection(json_data: ConnectionRequest) -> Response:
    """Connect two users, so that each can propose meetings to the other; or switch the connection off."""
    one, other = json_data.users
    with transaction(caller().tenant_id) as db:
        made = ledger.connect(db, caller().tenant_id, one, other, json_data.status)
    log.info("connection.put", connection_id=str(made.id), status=json_data.status, key_id=str(caller().key_id))
    return json_response(ConnectionView(id=made.id, users=list(made.users), status=json_data.status))


def _check_settings(request: AccountRequest) -> None:
    if "url" not in request.settings:
        return
    try:
        check_url(request.settings["url"])
    except PolicyDenied as error:
        faults = [fault("settings.url", "url_not_allowed", f"may not be called: {error}")]
        raise Invalid("the account has a url that may not be called", faults=faults) from None


def _load(db: Transaction, user_id: str) -> UserView:
    found = ledger.get_user(db, caller().tenant_id, user_id)
    return _view(found, integrations.accounts_of(db, caller().tenant_id, user_id))


def _view(found: DirectoryUser, accounts: list[Account]) -> UserView:
    return UserView.model_validate(
        {
            "id": found.id,
            "name": found.name,
            "email": found.email,
            "timezone": found.timezone,
            "locale": found.locale,
            "working_hours": found.working_hours,
            "scopes": sorted(found.scopes),
            "accounts": [_account(account) for account in accounts],
            "created_at": found.created_at,
        }
    )


def _account(account: Account) -> AccountView:
    return AccountView(
        id=account.id,
        integration=account.integration,
        status=account.status,
        settings=dict(account.settings),
        has_secret=account.sealed is not None,
        updated_at=account.updated_at,
    )
