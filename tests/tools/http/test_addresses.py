"""Test which addresses may be called when somebody else names the URL, in any notation."""

import socket
from collections.abc import Iterator
from ipaddress import ip_address

import pytest

from turnloom.models.errors import PolicyDenied
from turnloom.models.runtime.settings import settings
from turnloom.tools.http import addresses
from turnloom.tools.http.addresses import is_public, reachable

PUBLIC = ["8.8.8.8", "1.1.1.1", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::"]
PRIVATE = """
127.0.0.1 127.8.9.10 0.0.0.0 10.0.0.1 172.16.0.1 192.168.1.1 169.254.1.1 169.254.169.254 100.64.0.1 100.100.100.200
168.63.129.16 192.0.0.192 192.0.2.1 198.18.0.1 198.51.100.1 203.0.113.1 224.0.0.1 239.1.2.3 240.0.0.1 255.255.255.255
:: ::1 ::127.0.0.1 ::ffff:127.0.0.1 ::ffff:169.254.169.254 ::ffff:0:127.0.0.1 64:ff9b::7f00:1 64:ff9b::a9fe:a9fe
64:ff9b:1::1 2002:7f00:1:: 2002:c0a8:101:: 2001:0:1::1 2001:db8::1 3fff::1 5f00::1 100::1 fe80::1 fec0::1 fc00::1
fd00:ec2::254 ff02::1
""".split()

# Spellings that the C library takes for 127.0.0.1, or for this machine.
ODD = [
    "0x7f.1",
    "0x7f000001",
    "2130706433",
    "017700000001",
    "0177.0.0.1",
    "127.1",
    "0",
    "::ffff:127.0.0.1",
    "localhost",
]


@pytest.fixture
def allow(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    yield monkeypatch
    settings.cache_clear()


def resolving(monkeypatch: pytest.MonkeyPatch, **names: list[str]) -> None:
    """Let these names resolve to these addresses. An underscore stands for a dot."""
    known = {name.replace("_", "."): found for name, found in names.items()}

    def resolve(name: str, port: int, **_: object) -> list[tuple[object, ...]]:
        if name not in known:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in known[name]]

    monkeypatch.setattr(addresses, "getaddrinfo", resolve)


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_may_be_called(address: str) -> None:
    """This also holds for one inside an IPv6 address."""
    assert is_public(ip_address(address))


@pytest.mark.parametrize("address", PRIVATE)
def test_no_other_address_may_be_called(address: str) -> None:
    """Other addresses are of this machine, private networks, metadata services, multicast or reserved, in any form."""
    assert not is_public(ip_address(address))


@pytest.mark.parametrize("host", ODD)
def test_no_notation_gets_around_it(host: str) -> None:
    """The address that the resolver returns counts."""
    with pytest.raises(PolicyDenied):
        reachable(host, 80)


def test_one_private_address_of_a_name_is_enough_to_refuse_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Upper case and a dot at the end change nothing."""
    resolving(monkeypatch, fine_example=["8.8.8.8", "1.1.1.1", "8.8.8.8"], mixed_example=["8.8.8.8", "10.0.0.1"])

    assert reachable("Fine.Example.", 443) == ["8.8.8.8", "1.1.1.1"]
    with pytest.raises(PolicyDenied, match=r"mixed\.example") as refused:
        reachable("mixed.example", 443)
    assert "10.0.0.1" not in str(refused.value)
    with pytest.raises(OSError, match="not known"):
        reachable("nowhere.example", 443)


@pytest.mark.parametrize("port", [22, 25, 6379, 8080])
def test_only_the_ports_of_the_web_may_be_called(port: int) -> None:
    """Other services of a public host may not be called."""
    with pytest.raises(PolicyDenied, match=str(port)):
        reachable("8.8.8.8", port)


@pytest.mark.parametrize(
    ("entry", "host", "port", "may"),
    [
        ("127.0.0.1", "127.0.0.1", 8080, True),
        ("127.0.0.1", "::ffff:127.0.0.1", 80, True),
        ("127.0.0.1:8080", "127.0.0.1", 8080, True),
        ("127.0.0.1:8080", "127.0.0.1", 80, False),
        ("127.0.0.1", "127.0.0.2", 80, False),
        ("127.0.0.0/8", "127.0.0.2", 80, True),
        ("127.0.0.0/8:80", "127.0.0.2", 80, False),
        ("[::1]", "::1", 443, True),
        ("[::1]:443", "::1", 80, False),
        ("Wiki.Internal", "wiki.internal", 8080, True),
        ("wiki.internal:80", "wiki.internal", 8080, False),
        ("wiki.internal", "other.internal", 80, False),
        ("10.0.0.0/8", "other.internal", 80, True),
        ("8.8.8.8:8443", "8.8.8.8", 8443, True),
        ("10.0.0.0/99", "other.internal", 80, False),
        ("", "other.internal", 80, False),
    ],
)
def test_a_setting_names_exceptions(allow: pytest.MonkeyPatch, entry: str, host: str, port: int, may: bool) -> None:
    """An exception is a name or address, with or without a port, or a network. Anything else allows nothing."""
    if "internal" in host:
        resolving(allow, wiki_internal=["10.0.0.7"], other_internal=["10.0.0.8"])
    allow.setenv("TURNLOOM_ALLOWED_HOSTS", f'["{entry}"]')
    settings.cache_clear()

    if may:
        assert reachable(host, port)
    else:
        with pytest.raises(PolicyDenied):
            reachable(host, port)
