"""URLs of services that settings name are checked here, and shown without their secrets.

A malformed URL must be refused here: the libraries that would read it quote it in their errors, with its password.
"""

import re
from collections.abc import Sequence
from ipaddress import ip_network
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator

_ENCODED = "in names and passwords, write @ : / ? # % and spaces as %40 %3A %2F %3F %23 %25 and %20"
_REDIS_SCHEMES = ("redis", "rediss", "unix")
_UNENCODED = re.compile(r"[\s\x00-\x1f\x7f]|%(?!(?!00)[0-9A-Fa-f]{2})")


def check_service_url(url: str, schemes: Sequence[str] = ()) -> None:
    """Check that a URL can be read in one way only. It may have one of `schemes`, or any if there are none.

    Raises:
        ValueError: it cannot. The message holds no part of the URL.
    """
    scheme, separator, _ = url.partition("://")
    if not separator or (schemes and scheme.lower() not in schemes):
        wanted = " or ".join(f"{each}://" for each in schemes) or "a scheme such as https://"
        raise ValueError(f"the URL must begin with {wanted}")
    if _UNENCODED.search(url) or not _is_split_well(url):
        raise ValueError(f"the URL cannot be read: {_ENCODED}")


def _postgres(url: str) -> str:
    check_service_url(url, ("postgresql", "postgres"))
    return url


def _redis(url: str) -> str:
    if url.partition("://")[0].lower() not in _REDIS_SCHEMES:
        raise ValueError(
            "the server must be Redis or Valkey, at redis://HOST:6379/0 or rediss://…; TURNLOOM_BROKER_URL names"
            " another broker"
        )
    check_service_url(url)
    return url


def _service(url: str) -> str:
    check_service_url(url)
    return url


def _page(url: str) -> str:
    check_service_url(url, ("https", "http"))
    if "@" in url:
        raise ValueError("the URL is shown in a browser: leave name and password out")
    return url.rstrip("/")


def _network(text: str) -> str:
    """Return an address or a network unchanged; refuse anything else."""
    return str(ip_network(text, strict=False))


PostgresUrl = Annotated[str, AfterValidator(_postgres)]
"""The URL of a database."""

RedisUrl = Annotated[str, AfterValidator(_redis)]
"""The URL of a Redis-protocol server."""

ServiceUrl = Annotated[str, AfterValidator(_service)]
"""The URL of any service."""

PageUrl = Annotated[str, AfterValidator(_page)]
"""The URL of a website that browsers of ours are led to, without a slash at its end."""

Network = Annotated[str, AfterValidator(_network)]
"""An address, or a network such as 10.0.0.0/8."""


def shown_url(url: str) -> str:
    """Return a URL without the parts that may be secret: name, password, query and fragment."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


def _is_split_well(url: str) -> bool:
    """Return whether every parser of URLs agrees on where the name and the password end."""
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - raises if it is not a port
    except ValueError:
        return False
    rest = f"{parts.path}?{parts.query}#{parts.fragment}"
    return parts.netloc.count("@") <= 1 and ("@" in parts.netloc or "@" not in rest) and not parts.fragment
