"""Who calls, and what the key may do. A key is looked up once and then believed for a few seconds."""

import time
from collections import OrderedDict
from collections.abc import Callable
from functools import wraps
from threading import Lock
from typing import ParamSpec, TypeVar, cast

from flask import current_app, g, request

from models.contracts.turn import Scope
from models.database import transaction
from models.errors import PolicyDenied, Unauthorized
from models.ledger import keys
from models.ledger.keys import Caller

P = ParamSpec("P")
R = TypeVar("R")

_BELIEVED_S = 5.0
_REMEMBERED = 10_000
_EXTENSION = "turnloom.keys"


class KnownKeys:
    """The keys seen of late. A revoked one works on for five seconds at most; unknown ones are not remembered."""

    def __init__(self) -> None:
        self._callers: OrderedDict[bytes, tuple[float, Caller]] = OrderedDict()
        self._asking: dict[bytes, Lock] = {}

    def recognise(self, plain: str) -> Caller | None:
        """Return whom a key stands for; None for an unknown or revoked one."""
        digest = keys.digest(plain)
        if caller := self._known(digest):
            return caller
        # One asks for all who come with the key at that moment: many do, whenever its time is over.
        with self._asking.setdefault(digest, Lock()):
            caller = self._known(digest) or self._ask(plain, digest)
        self._asking.pop(digest, None)
        return caller

    def _known(self, digest: bytes) -> Caller | None:
        until, caller = self._callers.get(digest, (0.0, None))
        return caller if until > time.monotonic() else None

    def _ask(self, plain: str, digest: bytes) -> Caller | None:
        until = time.monotonic() + _BELIEVED_S
        with transaction() as db:
            caller = keys.recognise(db, plain)
        if caller is None:
            self._callers.pop(digest, None)
            return None
        self._callers[digest] = until, caller
        if len(self._callers) > _REMEMBERED:
            self._callers.popitem(last=False)
        return caller


def install(extensions: dict[str, object]) -> None:
    """Give an application its memory of keys."""
    extensions[_EXTENSION] = KnownKeys()


def requires(scope: Scope) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let only callers in whose key has the scope. It stands above all other decorators but the route.

    Raises:
        Unauthorized: there is no key, or one that we do not know.
        PolicyDenied: the key lacks the scope.
    """

    def decorate(view: Callable[P, R]) -> Callable[P, R]:
        @wraps(view)
        def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
            g.caller = _authenticate()
            demand(scope)
            return view(*args, **kwargs)

        guarded.scope = scope  # type: ignore[attr-defined]  # for docs/reference/http.md
        return guarded

    return decorate


def caller() -> Caller:
    """Return who calls. Only within a view that `requires` a scope."""
    return cast("Caller", g.caller)


def demand(scope: Scope) -> None:
    """Refuse the caller whose key lacks the scope.

    Raises:
        PolicyDenied: naming the scope.
    """
    if scope not in caller().scopes:
        raise PolicyDenied(f"this key lacks the scope {scope!r}", code="scope_missing")


def _authenticate() -> Caller:
    plain = _presented_key()
    if plain is None:
        raise Unauthorized("send a key: `Authorization: Bearer KEY` or `X-Api-Key: KEY`")
    known = cast("KnownKeys", current_app.extensions[_EXTENSION])
    found = known.recognise(plain)
    if found is None:
        raise Unauthorized("this key is not known here", code="unknown_key")
    return found


def _presented_key() -> str | None:
    scheme, _, rest = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer" and rest.strip():
        return rest.strip()
    return request.headers.get("X-Api-Key") or None
