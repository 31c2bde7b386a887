"""The console's cookie in place of a key: scripts cannot read it, and pages of other sites cannot use it.

A browser sends the cookie by itself. So a request with it must come from our own page: the browser says so in
`Sec-Fetch-Site` or `Origin`, and a request that changes something also carries a token that only our page can know. The
token is a digest of the cookie.
"""

import hashlib
import hmac
from ipaddress import ip_address
from urllib.parse import urlsplit

from flask import Request, Response, request

from turnloom.models.connections.database import transaction
from turnloom.models.errors import PolicyDenied, Unauthorized
from turnloom.models.ledger import console_sessions
from turnloom.models.ledger.console_sessions import LASTS, ConsoleSession
from turnloom.web import request_gate

COOKIE, CSRF_HEADER = "turnloom_session", "X-CSRF-Token"
_SAFE = ("GET", "HEAD", "OPTIONS")
_ENDED = "this session has ended, or its key works no more; sign in again"


def session_of_request() -> ConsoleSession | None:
    """Return the session of this request's cookie; None if it has no cookie. Nothing is cached: it ends at once.

    Raises:
        Unauthorized: the session has ended.
        PolicyDenied: the request does not come from our page.
    """
    token = request.cookies.get(COOKIE)
    if not token:
        return None
    demand_same_origin(request)
    if request.method not in _SAFE and not _has_csrf_token(token):
        raise PolicyDenied(f"send the session's csrf token as {CSRF_HEADER}", code="csrf_token_missing")
    with request_gate.lookups().passed(), transaction() as db:
        session = console_sessions.recognise(db, token)
    if session is None:
        raise Unauthorized(_ENDED, code="session_ended")
    return session


def demand_same_origin(asked: Request) -> None:
    """Refuse a request that a page of another site has made.

    A browser that does not say where a request comes from may only read: SameSite keeps the cookie from other sites.

    Raises:
        PolicyDenied: it has.
    """
    origin, site = asked.headers.get("Origin"), asked.headers.get("Sec-Fetch-Site")
    safe = asked.method in _SAFE
    ours = _is_ours(origin, asked.host) if origin is not None else safe or site == "same-origin"
    if not ours or site not in (None, "same-origin", *(("none",) if safe else ())):
        raise PolicyDenied("a page of another site may not use the console's session", code="other_origin")


def is_on_this_machine(asked: Request) -> bool:
    """Whether a page that was opened under a loopback address of this machine has sent a request.

    A browser tells the page's address in `Origin`. A name that another site has pointed here is none of ours.
    """
    origin = asked.headers.get("Origin")
    return (
        origin is not None
        and _is_ours(origin, asked.host)
        and _is_loopback(urlsplit(f"//{asked.host}").hostname)
        and _is_loopback(asked.remote_addr)
        and not any(name in asked.headers for name in ("Forwarded", "X-Forwarded-For", "X-Real-Ip", "Via"))
    )


def csrf_token(token: str) -> str:
    """Return what proves that a request comes from a page that has read who is signed in."""
    return hashlib.sha256(f"csrf:{token}".encode()).hexdigest()


def set_cookie(answer: Response, token: str) -> None:
    """Give the browser the cookie; over TLS it never sends it without."""
    is_secure = request.is_secure or (request.headers.get("Origin") or "").startswith("https://")
    age_s = int(LASTS.total_seconds())
    answer.set_cookie(COOKIE, token, max_age=age_s, path="/", httponly=True, samesite="Strict", secure=is_secure)


def _has_csrf_token(token: str) -> bool:
    given = request.headers.get(CSRF_HEADER, "")
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), csrf_token(token).encode())


def _is_ours(origin: str, host: str) -> bool:
    # The scheme may differ: a proxy in front may end TLS.
    try:
        return urlsplit(origin).netloc.lower() == host.lower()
    except ValueError:
        return False


def _is_loopback(host: str | None) -> bool:
    try:
        return host == "localhost" or ip_address(host or "").is_loopback
    except ValueError:
        return False
