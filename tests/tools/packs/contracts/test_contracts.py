"""Every shipped tool keeps its contract. `cases.py` says how to write one."""

import importlib
import re
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from tests.tools.packs.contracts.cases import Asks, Case, Contract, Fails, Given, Refused, Valid, World
from tests.tools.packs.contracts.generating import refused
from turnloom.models.contracts.envelope import Envelope
from turnloom.tools.context import ToolContext
from turnloom.tools.pack_index import shipped_packs
from turnloom.tools.registry import Tool, load_registry
from turnloom.tools.runner import run

RUNNERS_CODES = {"BAD_ARGS", "TOOL_TIMEOUT"}
"""The codes in which any call may end. No tool declares them."""
NEVER_SUCCEEDS = {"sim.fail"}

PACKS = [pack.name for pack in shipped_packs()]
MACHINERY = {"cases", "conftest", "generating", "test_contracts", "test_wording"}
WRITTEN = sorted({path.stem for path in Path(__file__).parent.glob("*.py")} - MACHINERY)
MODULES = {pack: importlib.import_module(f"tests.tools.packs.contracts.{pack}") for pack in WRITTEN}
CONTRACTS: dict[str, Contract] = {pack: module.CONTRACT for pack, module in MODULES.items()}
REGISTRY = load_registry(PACKS)

MakeContext = Callable[..., ToolContext]


def cases_of(tool: str, kind: type[Case]) -> list[Any]:
    listed = CONTRACTS.get(REGISTRY.get(tool).pack, {}).get(tool, [])
    return [case for case in listed if isinstance(case, kind)]


def written() -> list[Any]:
    return [
        pytest.param(pack, name, case, id=f"{pack}-{name}-{number}-{type(case).__name__.lower()}")
        for pack, contract in CONTRACTS.items()
        for name, cases in contract.items()
        for number, case in enumerate(cases, 1)
    ]


def generated() -> list[Any]:
    return [
        pytest.param(tool, case, id=f"{tool.pack}-{tool.name}-{what}")
        for tool in REGISTRY.tools.values()
        for what, case in refused(tool, next(iter(cases_of(tool.name, Valid)), None))
    ]


def called(pack: str, name: str, case: Case, make_context: MakeContext, request: pytest.FixtureRequest) -> Envelope:
    """Make the call of a case in the world that its pack needs."""
    if name not in getattr(MODULES[pack], "WITHOUT_DATABASE", ()):
        request.getfixturevalue("database")
    world: World = getattr(MODULES[pack], "world", nullcontext)
    with world(), case.given() as given:
        context = make_context(**resolved(case.context, given))
        return run(REGISTRY.get(name), dict(resolved(case.args, given)), context)


@pytest.mark.parametrize(("pack", "name", "case"), written())
def test_a_tool_keeps_its_contract(
    pack: str, name: str, case: Case, make_context: MakeContext, request: pytest.FixtureRequest
) -> None:
    """A call ends as its case says."""
    envelope = called(pack, name, case, make_context, request)

    check(REGISTRY.get(name), case, envelope)


@pytest.mark.parametrize(("tool", "case"), generated())
def test_a_tool_refuses_what_its_schema_rules_out(tool: Tool, case: Refused, make_context: MakeContext) -> None:
    """A missing or unknown argument, a wrong type and a value out of bounds are BAD_ARGS, with the argument's name."""
    check(tool, case, run(tool, dict(resolved(case.args, None)), make_context()))


def test_every_pack_has_a_contract() -> None:
    """A pack without a file here is not tested, and a file without a pack tests nothing."""
    assert WRITTEN == PACKS


@pytest.mark.parametrize("pack", WRITTEN)
def test_a_contract_covers_exactly_the_tools_of_its_pack(pack: str) -> None:
    """Each tool of the pack has cases, and no other."""
    assert set(CONTRACTS[pack]) == {tool.name for tool in REGISTRY.tools.values() if tool.pack == pack}


@pytest.mark.parametrize("tool", REGISTRY.tools.values(), ids=lambda tool: f"{tool.pack}-{tool.name}")
def test_a_contract_covers_what_the_tool_declares(tool: Tool) -> None:
    """It has a call that succeeds, and each code and field that is declared. It has no others."""
    codes = {case.code for case in cases_of(tool.name, Fails)} - RUNNERS_CODES
    fields = {
        field
        for case in cases_of(tool.name, Asks)
        for field in ([case.needs] if isinstance(case.needs, str) else case.needs)
    }

    assert bool(cases_of(tool.name, Valid)) == (tool.name not in NEVER_SUCCEEDS)
    assert codes == set(tool.errors) - RUNNERS_CODES
    assert fields == set(tool.asks)


def resolved(given: Given, world: Any) -> Mapping[str, Any]:
    return given(world) if callable(given) else given


def check(tool: Tool, case: Case, envelope: Envelope) -> None:
    match case:
        case Valid():
            assert envelope.ok, envelope
            assert holds(case.gives, envelope.data), envelope.data
        case Asks():
            assert envelope.needs is not None, envelope
            wanted = {case.needs: ...} if isinstance(case.needs, str) else case.needs
            assert set(envelope.needs) == set(wanted)
            assert holds(wanted, envelope.needs), envelope.needs
        case Refused() | Fails():
            assert envelope.error is not None, envelope
            code = case.code if isinstance(case, Fails) else "BAD_ARGS"
            assert envelope.error.code == code, envelope.error
            assert isinstance(case, Refused) or case.words in envelope.error.message, envelope.error
            assert isinstance(case, Fails) or case.field in named(envelope.error.message), envelope.error


def named(message: str) -> set[str]:
    """Return the arguments that a refusal names, and everything that contains them."""
    paths = [path.split(".") for path in re.findall(r"(?:^[\w.]+: |; )([\w.]+): ", message)]
    return {".".join(path[:length]) for path in paths for length in range(1, len(path) + 1)}


def holds(expected: Any, found: Any) -> bool:
    if expected is ...:
        return True
    if isinstance(expected, Mapping):
        return isinstance(found, Mapping) and all(
            name in found and holds(value, found[name]) for name, value in expected.items()
        )
    if isinstance(expected, list):
        return isinstance(found, list) and len(found) == len(expected) and all(map(holds, expected, found))
    return bool(expected == found)
