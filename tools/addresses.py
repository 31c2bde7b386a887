"""Which addresses of the network may be called where somebody else names the URL: a user, a language model, a page.

Such a URL must not reach what only we can reach: this machine, its network, the metadata service of its cloud. A name
says nothing; what counts are the addresses that it stands for, all of them. TURNLOOM_ALLOWED_HOSTS names exceptions.

In: host and port.  Out: the addresses to connect to. Whoever asks connects to these, and does not resolve again.
"""

from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from socket import SOCK_STREAM, getaddrinfo
from urllib.parse import urlsplit

from models.errors import PolicyDenied
from models.settings import settings

Address = IPv4Address | IPv6Address

PORTS = {"http": 80, "https": 443}
"""The schemes that may be called, each with its port; no other port may be."""

_GLOBAL_UNICAST = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")
"""IPv6 addresses that stand for the IPv4 address in their last 32 bits (RFC 6052)."""
_RESERVED = (
    ip_network("168.63.129.16"),  # answered by Azure's host; the metadata of most clouds is link-local
    ip_network("192.0.0.0/24"),  # of protocols, and Oracle's metadata; Python takes it for public before 3.11.10
    ip_network("3fff::/20"),  # for documents (RFC 9637); the same
)


def reachable(host: str, port: int) -> list[str]:
    """Return the addresses that a host stands for, in the order in which to try them.

    Raises:
        PolicyDenied: one of them may not be called, or the port may not.
        OSError: the name stands for none.
    """
    name = host.rstrip(".").lower()
    found = dict.fromkeys(str(entry[4][0]) for entry in getaddrinfo(name, port, type=SOCK_STREAM))
    if not all(_may_call(name, ip_address(address), port) for address in found):
        # Not which address: who may not call it may not learn it either.
        raise PolicyDenied(f"{name} port {port} may not be called; TURNLOOM_ALLOWED_HOSTS names exceptions")
    return list(found)


def check_url(url: object) -> None:
    """Pass where a URL that somebody else names may be called, as far as can be told now: each call checks again.

    A name that stands for no address at the moment passes.

    Raises:
        PolicyDenied: it is no URL of http or https, has a name or a password in it, or may not be called.
    """
    try:
        parts = urlsplit(url if isinstance(url, str) else "")
        host, port = parts.hostname, parts.port or PORTS.get(parts.scheme)
    except ValueError:
        host = port = None
    if not host or port is None or parts.scheme not in PORTS or "@" in parts.netloc:
        raise PolicyDenied("only http and https are called, and no URL with a name or a password in it")
    with suppress(OSError, UnicodeError):  # UnicodeError: a label of the name is too long
        reachable(host, port)


def is_public(address: Address) -> bool:
    """Tell whether an address is anybody's to call."""
    address = _meant(address)
    if address.is_multicast or address.is_reserved or any(address in network for network in _RESERVED):
        return False
    return address.is_global and (isinstance(address, IPv4Address) or address in _GLOBAL_UNICAST)


@dataclass(frozen=True)
class _Exemption:
    """An entry of TURNLOOM_ALLOWED_HOSTS: a name or an address, with or without a port, or a network."""

    name: str
    network: IPv4Network | IPv6Network | None
    port: int | None

    def covers(self, name: str, address: Address, port: int) -> bool:
        """Tell whether it allows this."""
        is_meant = name == self.name if self.network is None else address in self.network
        return is_meant and self.port in (None, port)


def _may_call(name: str, address: Address, port: int) -> bool:
    exempt = _exemptions(tuple(settings().allowed_hosts))
    if any(one.covers(name, _meant(address), port) for one in exempt):
        return True
    return port in PORTS.values() and is_public(address)


def _meant(address: Address) -> Address:
    """Return the IPv4 address that an IPv6 address carries; any other one as it is."""
    if isinstance(address, IPv4Address):
        return address
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour or address


@lru_cache(maxsize=8)
def _exemptions(entries: tuple[str, ...]) -> list[_Exemption]:
    return [_exemption(entry) for entry in entries]


def _exemption(entry: str) -> _Exemption:
    parts = urlsplit(f"//{entry}")
    name = (parts.hostname or "").rstrip(".")
    try:
        return _Exemption(name, ip_network(name + parts.path), parts.port)
    except ValueError:
        return _Exemption(name, None, parts.port)
