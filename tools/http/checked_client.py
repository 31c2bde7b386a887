"""The HTTP client for URLs that somebody else names. It connects only to addresses that were checked.

Each request is checked by itself, so redirects are checked too, whoever follows them. The name is resolved once, and
the client connects to the addresses that were checked. A name that resolves to another address a moment later gains
nothing. The other side still sees the name in the header Host and in TLS, and its certificate must be for that name.
"""

import math
import os
import time
from functools import lru_cache
from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpx2

from turnloom.models.errors import PolicyDenied
from turnloom.tools.http.addresses import PORTS, reachable
from turnloom.tools.http.cut_off import UNTIL


@lru_cache
def client() -> httpx2.Client:
    """Return this process's client. It follows no redirects, keeps no cookies and uses no proxy.

    Its requests raise PolicyDenied if the URL may not be called.
    """
    cookies = CookieJar(DefaultCookiePolicy(allowed_domains=[]))
    return httpx2.Client(transport=_CheckedTransport(), cookies=cookies, trust_env=False)


class _CheckedTransport(httpx2.BaseTransport):
    def __init__(self) -> None:
        # Keep no connections: the pool would reuse one by its address, even for a name that its certificate was not
        # checked for.
        self._inner = httpx2.HTTPTransport(limits=httpx2.Limits(max_keepalive_connections=0))

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.url.scheme not in PORTS or request.url.userinfo:
            raise PolicyDenied("only http and https URLs without a user name and password may be called")
        failed: httpx2.TransportError = httpx2.ConnectError("the name has no address", request=request)
        for address in self._addresses(request):
            try:
                return self._inner.handle_request(_to(address, request))
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                failed = error
            if time.monotonic() >= request.extensions.get(UNTIL, math.inf):
                break
        raise failed

    def _addresses(self, request: httpx2.Request) -> list[str]:
        url = request.url
        try:
            return reachable(_name(url), url.port or PORTS[url.scheme])
        except (OSError, UnicodeError):  # UnicodeError means that a label of the name is too long
            return []

    def close(self) -> None:
        self._inner.close()


def _to(address: str, request: httpx2.Request) -> httpx2.Request:
    """Return the request with the name in its URL replaced by the address."""
    return httpx2.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": _name(request.url)},
    )


def _name(url: httpx2.URL) -> str:
    return url.raw_host.decode("ascii").rstrip(".")


os.register_at_fork(after_in_child=client.cache_clear)
