"""The HTTP client for URLs that somebody else names: it connects only to addresses that were checked.

Each request is checked by itself, so a redirect is as well, whoever follows it. The name is resolved once, and what was
checked is what is connected to: a name that stands for something else a moment later gains nothing. The other side
still sees the name, in the header Host and in TLS, whose certificate must be for it.
"""

import os
from functools import lru_cache
from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpx2

from models.errors import PolicyDenied
from tools.addresses import PORTS, reachable


@lru_cache
def client() -> httpx2.Client:
    """Return this process's client. It follows no redirect, keeps no cookie, and asks no proxy.

    Its requests raise PolicyDenied where the URL is one that may not be called.
    """
    cookies = CookieJar(DefaultCookiePolicy(allowed_domains=[]))
    return httpx2.Client(transport=_CheckedTransport(), cookies=cookies, trust_env=False)


class _CheckedTransport(httpx2.BaseTransport):
    def __init__(self) -> None:
        # No connection is kept: it would be found again by its address, whatever name its certificate was checked for.
        self._inner = httpx2.HTTPTransport(limits=httpx2.Limits(max_keepalive_connections=0))

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.url.scheme not in PORTS or request.url.userinfo:
            raise PolicyDenied("only http and https are called, and no URL with a name or a password in it")
        failed: httpx2.TransportError = httpx2.ConnectError("the name stands for no address", request=request)
        for address in self._addresses(request):
            try:
                return self._inner.handle_request(_to(address, request))
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                failed = error
        raise failed

    def _addresses(self, request: httpx2.Request) -> list[str]:
        url = request.url
        try:
            return reachable(_name(url), url.port or PORTS[url.scheme])
        except (OSError, UnicodeError):  # UnicodeError: a label of the name is too long
            return []

    def close(self) -> None:
        self._inner.close()


def _to(address: str, request: httpx2.Request) -> httpx2.Request:
    """Return the request with the address in the place of the name."""
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
