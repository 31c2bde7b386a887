"""The tools that a plan may call now, for this user."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from tests.factories import claim_turn, make_tenant, open_turn
from turnloom.models.connections.database import transaction
from turnloom.models.contracts.users import AccountRequest, Profile
from turnloom.models.ledger import integrations, users
from turnloom.models.ledger.turns import ClaimedTurn
from turnloom.tools.guards import breaker
from turnloom.tools.registry import Registry, Tool, load_registry
from turnloom.workers.turns.tool_availability import offer

pytestmark = pytest.mark.usefixtures("database")

SIM = load_registry(["sim"]).tools
NOA = {"user": {"id": "noa"}}


def tools(**changes: Mapping[str, Any]) -> Registry:
    """Return three tools of the sim pack, changed as given."""
    named: dict[str, Tool] = {name: SIM[f"sim.{name}"] for name in ("wait", "echo", "write")}
    return Registry({tool.name: replace(tool, **changes.get(name, {})) for name, tool in named.items()})


def turn(**request: Any) -> ClaimedTurn:
    claimed = claim_turn(open_turn(make_tenant(), **request).turn_id)
    assert claimed is not None
    return claimed


def put_noa(*scopes: str) -> str:
    """Let Noa grant these scopes; return the id of her account with `notes`."""
    tenant_id = make_tenant()
    with transaction() as db:
        users.put_user(db, tenant_id, "noa", Profile(name="Noa", scopes=list(scopes)))
        return str(integrations.put_account(db, tenant_id, "noa", "notes", AccountRequest()).id)


def open_circuit(circuit: str) -> None:
    for _ in range(5):
        breaker._script("failed", circuit, "")


def test_tools_without_conditions_are_offered_without_a_query(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither Postgres nor Redis is asked."""
    monkeypatch.setattr("turnloom.workers.turns.tool_availability.recent_access_of", None)
    monkeypatch.setattr("turnloom.workers.turns.tool_availability.open_circuits", None)

    offered = offer(turn(**NOA), tools())

    assert (len(offered.tools.tools), offered.unavailable) == (3, {})


def test_a_tool_that_the_user_has_not_granted_is_not_offered() -> None:
    """The reason names the missing scopes."""
    put_noa("notes.read")
    guarded = tools(
        write={"scopes": frozenset({"notes.read", "notes.write"})}, wait={"scopes": frozenset({"notes.read"})}
    )

    offered = offer(turn(**NOA), guarded)

    assert sorted(offered.tools.tools) == ["sim.echo", "sim.wait"]
    assert offered.unavailable == {"sim.write": {"code": "SCOPES_MISSING", "scopes": ["notes.write"]}}


def test_without_a_user_no_tool_that_acts_for_one_is_offered() -> None:
    offered = offer(turn(), tools(write={"scopes": frozenset({"notes.write"})}))

    assert sorted(offered.tools.tools) == ["sim.echo", "sim.wait"]
    assert offered.unavailable == {"sim.write": {"code": "UNAUTHORIZED"}}


def test_a_tool_whose_service_is_down_is_offered_with_a_warning() -> None:
    """The service may be back when the call is made."""
    open_circuit("clock")
    guarded = tools(
        wait={"integration": "clock"}, echo={"integration": "echoes"}, write={"integration": lambda *_: "clock"}
    )

    offered = offer(turn(), guarded)

    assert len(offered.tools.tools) == 3
    assert offered.unavailable == {"sim.wait": {"code": "CIRCUIT_OPEN", "service": "clock"}}


def test_the_circuit_of_an_account_concerns_its_user_only() -> None:
    account = put_noa("notes.write")
    guarded = tools(write={"scopes": frozenset({"notes.write"}), "integration": "notes"})
    open_circuit("notes")
    before = offer(turn(**NOA), guarded).unavailable
    open_circuit(account)

    after = offer(turn(**NOA, conversation_id="c2"), guarded).unavailable

    assert (before, after) == ({}, {"sim.write": {"code": "CIRCUIT_OPEN", "service": "notes"}})
