"""Authenticate callers by their key or the console's cookie, and check scopes. A key is trusted for a few seconds."""

from collections.abc import Callable
from contextlib import nullcontext
from functools import wraps
from typing import ParamSpec, TypeVar, cast

from flask import current_app, g, request

from turnloom.models.connections.database import transaction
from turnloom.models.contracts.scope import Scope
from turnloom.models.errors import PolicyDenied, Unauthorized
from turnloom.models.ledger import keys
from turnloom.models.ledger.keys import Caller
from turnloom.models.runtime.operators import Operator, acting
from turnloom.models.runtime.ttl_cache import TtlCache
from turnloom.web import request_gate
from turnloom.web.session_cookie import session_of_request

P = ParamSpec("P")
R = TypeVar("R")

_FRESH_S, _KEPT_S = 4.0, 5.0
_REMEMBERED = 10_000
_EXTENSION = "turnloom.keys"


class KnownKeys:
    """The keys seen lately. One that has ended works for five more seconds at most. Unknown keys are not cached."""

    def __init__(self) -> None:
        self._callers: TtlCache[bytes, Caller] = TtlCache(_ask, fresh_s=_FRESH_S, kept_s=_KEPT_S, at_most=_REMEMBERED)

    def recognise(self, plain: str) -> Caller | None:
        """Return the caller that a key stands for; None for one that is unknown or works no more."""
        return self._callers.get(keys.digest(plain))


def _ask(digest: bytes, _: Caller | None) -> Caller | None:
    with request_gate.lookups().passed(), transaction() as db:
        return keys.recognise(db, digest)


def install(extensions: dict[str, object]) -> None:
    """Give an application its cache of keys."""
    extensions[_EXTENSION] = KnownKeys()


def requires(scope: Scope, *, reads: bool = True) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Admit only callers whose key has the scope. Put this directly below the route, above all other decorators.

    `reads`: the view shares the connections that are not reserved for accepting messages.

    Raises:
        Unauthorized: the key is missing or unknown.
        PolicyDenied: the key lacks the scope.
        Unavailable: too many requests wait for a connection.
    """

    def decorate(view: Callable[P, R]) -> Callable[P, R]:
        @wraps(view)
        def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
            g.caller = _authenticate()
            demand(scope)
            gate = request_gate.readers().passed() if reads else nullcontext()
            with gate, acting(Operator(key_id=g.caller.key_id)):
                return view(*args, **kwargs)

        guarded.scope = scope  # type: ignore[attr-defined]  # for docs/reference/http.md
        return guarded

    return decorate


def caller() -> Caller:
    """Return the caller of this request. Works only within a view that `requires` a scope."""
    return cast("Caller", g.caller)


def demand(scope: Scope) -> None:
    """Refuse the caller whose key lacks the scope.

    Raises:
        PolicyDenied: the key lacks the scope, which the error names.
    """
    if scope not in caller().scopes:
        raise PolicyDenied(f"this key lacks the scope {scope!r}", code="scope_missing")


def _authenticate() -> Caller:
    plain = _presented_key()
    if plain is None and (session := session_of_request()):
        return session.caller
    if plain is None:
        raise Unauthorized("send a key: `Authorization: Bearer KEY` or `X-Api-Key: KEY`")
    known = cast("KnownKeys", current_app.extensions[_EXTENSION])
    found = known.recognise(plain)
    if found is None:
        raise Unauthorized("this key is not known here, or works no more", code="unknown_key")
    return found


def _presented_key() -> str | None:
    scheme, _, rest = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer" and rest.strip():
        return rest.strip()
    return request.headers.get("X-Api-Key") or None
