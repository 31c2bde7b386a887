"""Sign people in at the console, and out."""

from apiflask import APIBlueprint
from flask import Response, request

from turnloom.models.connections.database import transaction
from turnloom.models.connections.redis import run_script
from turnloom.models.contracts.console import ConsoleSessionView, SignIn
from turnloom.models.errors import RateLimited, Unauthorized, Unavailable
from turnloom.models.ledger import console_sessions, keys
from turnloom.models.ledger.console_sessions import ConsoleSession
from turnloom.models.runtime.logging import log
from turnloom.models.runtime.settings import settings
from turnloom.web import request_gate
from turnloom.web.json_body import json_response
from turnloom.web.session_cookie import (
    COOKIE,
    csrf_token,
    demand_same_origin,
    is_on_this_machine,
    session_of_request,
    set_cookie,
)

_TRIES, _EACH_MS = 20, 3_000
"""Tries to sign in with a key from one address: so many at once, and then one for each of these times."""

blueprint = APIBlueprint("sign_in", __name__, url_prefix="/v1/console", tag="Console")


@blueprint.post("/session")
@blueprint.input(SignIn)
@blueprint.output(ConsoleSessionView, description="Signed in; the cookie stands for the key")
@blueprint.doc(operation_id="sign_in")
def sign_in(json_data: SignIn) -> Response:
    """Sign in with a key.

    The answer sets the cookie `turnloom_session`, which scripts cannot read. For twelve hours, or as long as its key
    works, it is accepted in place of a key by every route, from pages of this site only. Requests that change something
    need the header `X-CSRF-Token`.
    """
    demand_same_origin(request)
    if json_data.key:
        _demand_rate()
    key = json_data.key or _own_key()
    with request_gate.lookups().passed(), transaction() as db:
        opened = console_sessions.open_session(db, keys.digest(key))
    if opened is None:
        raise Unauthorized("this key is not known here, or works no more", code="unknown_key")
    token, session = opened
    log.info("console.signed_in", key_id=str(session.caller.key_id))
    answer = json_response(_view(session, token))
    set_cookie(answer, token)
    return answer


@blueprint.get("/session")
@blueprint.output(ConsoleSessionView)
@blueprint.doc(operation_id="get_session")
def session() -> Response:
    """Tell who is signed in; 401 if nobody is."""
    found = session_of_request()
    if found is None:
        raise Unauthorized("nobody is signed in: send a key to POST /v1/console/session")
    return json_response(_view(found, request.cookies[COOKIE]))


@blueprint.delete("/session")
@blueprint.output({}, 204, description="Signed out")
@blueprint.doc(operation_id="sign_out")
def sign_out() -> Response:
    """Sign out. The cookie is worth nothing from now on, wherever it is."""
    if session_of_request() is None:
        raise Unauthorized("nobody is signed in")
    with request_gate.lookups().passed(), transaction() as db:
        console_sessions.close_session(db, request.cookies[COOKIE])
    answer = Response(status=204)
    answer.delete_cookie(COOKIE, path="/", httponly=True, samesite="Strict")
    return answer


def _own_key() -> str:
    """Return the embedded stack's own key, for a page that was opened on this machine."""
    key = settings().dev_key
    if not key or not settings().console_sign_in or not is_on_this_machine(request):
        raise Unauthorized('send a key: `{"key": "…"}`', code="key_missing")
    return key


def _demand_rate() -> None:
    try:
        wait_ms, _ = run_script("pace", [f"turnloom:sign_in:{request.remote_addr}"], [_EACH_MS, _TRIES])
    except Unavailable:
        return  # a key cannot be guessed; the rate only spares Postgres
    if wait_ms > 0:
        raise RateLimited("too many tries to sign in from this address; wait a little", retry_after_s=wait_ms / 1_000)


def _view(session: ConsoleSession, token: str) -> ConsoleSessionView:
    scopes = session.caller.scopes
    is_operator = "operations:read" in scopes
    return ConsoleSessionView(
        tenant=session.tenant,
        scopes=sorted(scopes),
        operator=is_operator,
        csrf=csrf_token(token),
        flower_url=settings().flower_url if is_operator else None,
        expires_at=session.expires_at,
    )
