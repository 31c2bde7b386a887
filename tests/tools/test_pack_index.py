"""Packs of other distributions are found, and loaded or refused."""

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.installing import declare
from turnloom.models.errors import Conflict, NotFound
from turnloom.tools import pack_index, registry
from turnloom.tools.registry import load_registry

TOOL = '''
from turnloom.models.contracts.base import Contract
from turnloom.tools.context import ToolContext
from turnloom.tools.registry import tool


class Nothing(Contract):
    """Nothing."""


@tool("{name}", effect="read")
def {function}(query: Nothing, context: ToolContext) -> Nothing:
    """Do nothing at all."""
    return query
'''

PlugIn = Callable[..., None]


@pytest.fixture
def plug_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PlugIn]:
    """Return a function that installs a distribution with one pack, given the files of its package by name."""
    load_registry(["dates", "sim"])  # before the copies that are put back, because a module declares its tools once
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(registry, "_declared", dict(registry._declared))
    monkeypatch.setattr(pack_index, "_names", dict(pack_index._names))
    before = set(sys.modules)

    def install(pack: str, package: str, distribution: str = "acme-tools", **files: str) -> None:
        (tmp_path / package).mkdir()
        for name, text in ({"__init__": ""} | files).items():
            (tmp_path / package / f"{name}.py").write_text(text, "utf-8")
        declare(tmp_path, distribution, {pack_index.GROUP: {pack: package}})
        importlib.invalidate_caches()

    yield install
    for name in set(sys.modules) - before:
        if name.startswith(("acme", "rival")):
            del sys.modules[name]


def declaring(*names: str) -> str:
    return "".join(TOOL.format(name=name, function=f"tool_{number}") for number, name in enumerate(names))


def test_an_installed_pack_is_loaded_by_its_name(plug_in: PlugIn) -> None:
    """Every module of its package is loaded, whatever the names. The tools belong to the pack."""
    plug_in("acme", "acme_pack", one=declaring("acme.one"), two=declaring("other.two"))

    found = load_registry(["acme", "dates"])

    assert list(found.tools) == ["acme.one", "dates.resolve_hint", "other.two"]
    assert (found.get("acme.one").pack, found.get("other.two").pack) == ("acme", "acme")


def test_an_installed_pack_that_is_not_enabled_is_not_loaded(plug_in: PlugIn) -> None:
    """A pack's code does not run before TURNLOOM_PACKS names it."""
    plug_in("acme", "acme_pack", one="raise SystemExit('must not run')")

    found = load_registry(["dates"])

    assert list(found.tools) == ["dates.resolve_hint"]
    assert "acme_pack" not in sys.modules


def test_the_error_of_an_unknown_pack_lists_the_installed_ones(plug_in: PlugIn) -> None:
    """The list has our packs and others."""
    plug_in("acme", "acme_pack")

    with pytest.raises(NotFound, match=r"'acne'; installed are acme, dates, hotel.*TURNLOOM_PACKS"):
        load_registry(["acne"])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("1 / 0", "ZeroDivisionError"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("def broken(:", "SyntaxError"),
        (declaring("sim.wait"), "tool sim.wait is declared twice"),
    ],
    ids=["import", "crash", "exit", "syntax", "taken"],
)
def test_the_error_of_a_broken_pack_names_it(plug_in: PlugIn, text: str, told: str) -> None:
    """It also names the package and the fault. Even an exit of the interpreter becomes an error."""
    plug_in("acme", "acme_pack", one=text)

    with pytest.raises(NotFound) as caught:
        load_registry(["acme"])

    assert "'acme' (acme_pack of acme-tools) cannot be loaded" in str(caught.value)
    assert told in str(caught.value)


@pytest.mark.parametrize(("pack", "other"), [("dates", "turnloom.tools.packs.dates"), ("acme", "rival_pack of rival")])
def test_two_packs_of_a_name_are_a_conflict_where_it_is_enabled(plug_in: PlugIn, pack: str, other: str) -> None:
    """The name is ambiguous. Other packs still load."""
    plug_in(pack, "acme_pack", one=declaring("acme.one"))
    plug_in("acme", "rival_pack", distribution="rival", one=declaring("rival.one"))

    with pytest.raises(Conflict) as caught:
        load_registry([pack])

    assert "acme_pack of acme-tools" in str(caught.value)
    assert other in str(caught.value)
    assert load_registry(["sim"]).tools
