"""Network addresses that may be called if somebody else names the URL: a user, a language model or a page.

Such a URL must not reach what only we can reach: this machine, its network, the metadata service of its cloud. The
name in the URL proves nothing, so every address that it resolves to is checked. TURNLOOM_ALLOWED_HOSTS names
exceptions.

In: host and port.  Out: the addresses to connect to. Connect to these, and do not resolve the name again.
"""

from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from socket import SOCK_STREAM, getaddrinfo
from urllib.parse import urlsplit

from turnloom.models.errors import PolicyDenied
from turnloom.models.runtime.settings import settings

Address = IPv4Address | IPv6Address

PORTS = {"http": 80, "https": 443}
"""The schemes that may be called, each with its port. No other ports are allowed."""

_GLOBAL_UNICAST = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")
"""IPv6 addresses with an IPv4 address in their last 32 bits (RFC 6052)."""
_RESERVED = (
    ip_network("168.63.129.16"),  # Azure's host answers here; the metadata services of most clouds are link-local
    ip_network("192.0.0.0/24"),  # protocol assignments and Oracle's metadata; public to Python before 3.11.10
    ip_network("3fff::/20"),  # for documentation (RFC 9637); also public to Python before 3.11.10
)


def reachable(host: str, port: int) -> list[str]:
    """Return the addresses of a host, in the order in which to try them.

    Raises:
        PolicyDenied: one of the addresses, or the port, may not be called.
        OSError: the name has no address.
    """
    name = host.rstrip(".").lower()
    found = dict.fromkeys(str(entry[4][0]) for entry in getaddrinfo(name, port, type=SOCK_STREAM))
    if not all(_may_call(name, ip_address(address), port) for address in found):
        # Do not name the address: a caller that may not call it may not learn it either.
        raise PolicyDenied(f"{name} port {port} may not be called; TURNLOOM_ALLOWED_HOSTS names exceptions")
    return list(found)


def check_url(url: object) -> None:
    """Check early that a URL named by somebody else may be called. Each call checks it again.

    A name that has no address at the moment passes.

    Raises:
        PolicyDenied: it is not an http or https URL, contains a user name or password, or may not be called.
    """
    try:
        parts = urlsplit(url if isinstance(url, str) else "")
        host, port = parts.hostname, parts.port or PORTS.get(parts.scheme)
    except ValueError:
        host = port = None
    if not host or port is None or parts.scheme not in PORTS or "@" in parts.netloc:
        raise PolicyDenied("only http and https URLs without a user name and password may be called")
    with suppress(OSError, UnicodeError):  # UnicodeError means that a label of the name is too long
        reachable(host, port)


def is_public(address: Address) -> bool:
    """Whether anybody may call this address."""
    address = _meant(address)
    if address.is_multicast or address.is_reserved or any(address in network for network in _RESERVED):
        return False
    return address.is_global and (isinstance(address, IPv4Address) or address in _GLOBAL_UNICAST)


@dataclass(frozen=True)
class _Exemption:
    """An entry of TURNLOOM_ALLOWED_HOSTS: a name or address, with or without a port, or a network."""

    name: str
    network: IPv4Network | IPv6Network | None
    port: int | None

    def covers(self, name: str, address: Address, port: int) -> bool:
        """Whether this entry allows the call."""
        is_meant = name == self.name if self.network is None else address in self.network
        return is_meant and self.port in (None, port)


def _may_call(name: str, address: Address, port: int) -> bool:
    exempt = _exemptions(tuple(settings().allowed_hosts))
    if any(one.covers(name, _meant(address), port) for one in exempt):
        return True
    return port in PORTS.values() and is_public(address)


def _meant(address: Address) -> Address:
    """Return the IPv4 address inside an IPv6 address. Every other address is returned as it is."""
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
