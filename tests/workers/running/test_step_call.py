"""A worker asks the guards before a call, and ends or parks a step whose call they refuse."""

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from celery.exceptions import Ignore
from sqlalchemy import text

from tests.factories import make_tenant, running_turn, step
from tests.facts import wait_for
from tests.models.ledger.parking import APPROVED, change, decide, row
from tests.models.ledger.stopping import lose, statuses
from turnloom.models.connections.database import snapshot, statement, transaction
from turnloom.models.connections.redis import redis
from turnloom.models.contracts.delay_causes import explain
from turnloom.models.contracts.users import AccountRequest, Profile
from turnloom.models.errors import ToolFailed, Unavailable
from turnloom.models.ledger import explanation, integrations, steps, turns, users
from turnloom.models.ledger.steps import Holder
from turnloom.models.tables.steps import StepRow
from turnloom.tools.context import ToolContext
from turnloom.tools.guards import breaker
from turnloom.tools.guards.breaker import open_circuits
from turnloom.tools.registry import Tool
from turnloom.workers.execution import Executor
from turnloom.workers.recovery import recompile

pytestmark = pytest.mark.usefixtures("database", "tools")

HOLDER = Holder("worker/1", 6_000)
SCOPE = frozenset({"notes.write"})
NOA = {"user": {"id": "noa"}}
WRITE = step("w", tool="sim.write", args={"value": 7})


def run(turn_id: UUID, *lane: str, generation: int = 1) -> StepRow:
    """Run a lane as a worker would; return its last step."""
    with statement() as db:
        claimed = steps.claim(db, turn_id, [lane], generation, HOLDER)
    assert claimed.turn is not None
    with suppress(Ignore):  # the message must not count as done if a step is parked
        Executor(turn_id, claimed.turn, generation, "tools.cpu", HOLDER).run(claimed.lanes, 1, claimed.at)
    return row(turn_id, lane[-1])


def code(ended: StepRow) -> str | None:
    return (ended.error or {}).get("code")


def writes() -> int:
    with transaction() as db:
        return db.scalar(text("SELECT count(*) FROM sim_writes")) or 0


def put_noa(*scopes: str, account: str | None = None) -> None:
    tenant_id = make_tenant()
    with transaction() as db:
        users.put_user(db, tenant_id, "noa", Profile(name="Noa", scopes=list(scopes)))
        if account is not None:
            integrations.put_account(db, tenant_id, "noa", account, AccountRequest())


def let_its_time_come() -> None:
    change("UPDATE steps SET not_before = clock_timestamp() - interval '1 ms' WHERE not_before IS NOT NULL")


def test_a_call_over_its_rate_is_made_later(tools: dict[str, Tool]) -> None:
    """The parked call holds nothing, the explanation names the limit, and the call's place in the window is kept."""
    tools["sim.wait"] = replace(tools["sim.wait"], per_user="1/second")
    turn = running_turn(step("a"), step("b"), **NOA)
    run(turn.id, "a")
    parked = run(turn.id, "b")
    with snapshot() as db:
        found = turns.get(db, turn.id)
        assert found is not None
        why = explain(explanation.gather(db, found, timedelta(seconds=6)), {})
    wait_for(lambda: redis().zcount(f"turnloom:rate:sim.wait:{turn.tenant_id}:user:noa", "-inf", _redis_ms()) == 2)
    let_its_time_come()

    made = run(turn.id, "b")

    assert (parked.status, code(parked), parked.parked) == ("pending", "RATE_LIMITED", 1)
    assert (why.cause, why.step, why.until) == ("rate_limit", "b", parked.not_before)
    assert "sim.wait may be called 1 times a second for a user" in why.message
    assert (made.status, made.parked) == ("succeeded", 1)


def _redis_ms() -> int:
    seconds, micros = redis().time()  # type: ignore[misc]
    return int(seconds) * 1_000 + int(micros) // 1_000


def test_a_call_with_a_fallback_does_not_wait(tools: dict[str, Tool]) -> None:
    tools["sim.wait"] = replace(tools["sim.wait"], per_tenant="1/hour")
    stand_in = {"fallbacks": [{"tool": "sim.echo", "args": {"value": 1}}]}
    turn = running_turn(step("a"), step("b", **stand_in))
    run(turn.id, "a")

    assert run(turn.id, "b").result == {"value": 1}


@pytest.mark.parametrize(
    ("request_", "scopes", "expected"),
    [
        ({}, ["notes.write"], ("failed", "UNAUTHORIZED", 0)),
        (NOA, [], ("failed", "SCOPES_MISSING", 0)),
        ({"user": {"id": "tal"}}, ["notes.write"], ("failed", "SCOPES_MISSING", 0)),
        (NOA, ["notes.write"], ("succeeded", None, 1)),
    ],
)
def test_a_call_is_made_only_for_a_user_who_has_granted_it(
    tools: dict[str, Tool], request_: dict[str, Any], scopes: list[str], expected: tuple[str, str | None, int]
) -> None:
    tools["sim.write"] = replace(tools["sim.write"], scopes=SCOPE)
    put_noa(*scopes)
    turn = running_turn(WRITE, **request_)

    ended = run(turn.id, "w")

    assert (ended.status, code(ended), writes()) == expected


def test_a_call_whose_grant_is_revoked_during_approval_is_not_made(tools: dict[str, Tool]) -> None:
    """The grant is checked again after the approval, so that a revoked one counts."""
    tools["sim.approve"] = replace(tools["sim.approve"], scopes=SCOPE)
    put_noa("notes.write")
    turn = running_turn(APPROVED, **NOA)
    waiting = run(turn.id, "w").status
    put_noa()
    decide(turn.id)

    ended = run(turn.id, "w")

    assert (waiting, ended.status, code(ended), writes()) == ("waiting_approval", "failed", "SCOPES_MISSING", 0)


def test_a_service_that_refuses_an_account_marks_it(tools: dict[str, Tool]) -> None:
    """The next call is refused before it reaches the service, until the user connects the account again."""
    calls = []

    def refused(query: Any, context: ToolContext) -> Any:
        calls.append(context.accounts["notes"].id)
        raise ToolFailed("expired", code="REAUTH_REQUIRED")

    tools["sim.write"] = replace(tools["sim.write"], scopes=SCOPE, integration="notes", call=refused)
    put_noa("notes.write", account="notes")
    turn = running_turn(*(step(name, tool="sim.write", args={"value": 7}) for name in "abc"), **NOA)
    ends = [run(turn.id, name) for name in "ab"]
    put_noa("notes.write", account="notes")
    ends.append(run(turn.id, "c"))

    assert {(end.status, code(end)) for end in ends} == {("failed", "REAUTH_REQUIRED")}
    assert len(calls) == 2


def lost_write(tools: dict[str, Tool], **request: Any) -> UUID:
    """Write, and lose the worker before it can report."""
    turn = running_turn(WRITE, **request)
    with statement() as db:
        claimed = steps.claim(db, turn.id, [["w"]], 1, HOLDER)
    assert claimed.turn is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("turnloom.workers.running.step_commits.advance", _out)
        patch.setattr("turnloom.workers.running.commit_retry._until_answered", lambda function: function())
        with pytest.raises(Ignore):
            Executor(turn.id, claimed.turn, 1, "tools.cpu", HOLDER).run(claimed.lanes, 1, claimed.at)
    lose(turn.id)
    recompile(turn.id)
    return turn.id


def _out(*_: Any) -> Any:
    raise Unavailable("Postgres does not answer")


def test_a_lost_write_is_asked_about_when_its_service_may_be_asked_again(tools: dict[str, Tool]) -> None:
    """Until then the step stays unsure, and the write is not repeated."""
    tools["sim.write"] = replace(tools["sim.write"], integration="notes")
    turn_id = lost_write(tools)
    for _ in range(5):
        breaker._script("failed", "notes", "")
    redis().zadd("turnloom:circuits", {"notes": _redis_ms() + 20_000})
    waiting = run(turn_id, "w", generation=2)
    breaker._script("answered", "notes", "")
    let_its_time_come()
    ended = run(turn_id, "w", generation=2)

    assert (waiting.status, code(waiting), waiting.unsure) == ("pending", "CIRCUIT_OPEN", True)
    assert (ended.status, ended.result["first"], writes()) == ("succeeded", True, 1)


def test_a_lost_write_that_cannot_be_asked_about_in_time_is_unknown(tools: dict[str, Tool]) -> None:
    """The circuit stays open for longer than the turn may last."""
    tools["sim.write"] = replace(tools["sim.write"], integration="notes")
    turn_id = lost_write(tools)
    for _ in range(5):
        breaker._script("failed", "notes", "")

    ended = run(turn_id, "w", generation=2)

    assert (ended.status, code(ended), writes()) == ("unknown", "CIRCUIT_OPEN", 1)


def test_a_lost_write_whose_grant_is_revoked_is_unknown(tools: dict[str, Tool]) -> None:
    """Nobody may ask about the write any more, and it would be wrong to report a failure."""
    put_noa("notes.write")
    tools["sim.write"] = replace(tools["sim.write"], scopes=SCOPE)
    turn_id = lost_write(tools, **NOA)
    put_noa()

    ended = run(turn_id, "w", generation=2)

    assert (ended.status, code(ended), writes()) == ("unknown", "SCOPES_MISSING", 1)


def test_the_circuit_opens_for_the_steps_of_all_turns(tools: dict[str, Tool]) -> None:
    """Each attempt of a step counts. When the circuit is open, fallbacks run at once."""
    tools["sim.flaky"] = replace(tools["sim.flaky"], integration="notes")
    flaky = {"tool": "sim.flaky", "args": {"fail_times": 100}}
    first = running_turn(step("a", **flaky), step("b", **flaky))
    ends = [run(first.id, name) for name in "ab"]
    second = running_turn(
        step("a", **flaky, fallbacks=[{"tool": "sim.echo", "args": {"value": 1}}]), conversation_id="c2"
    )

    assert [code(end) for end in ends] == ["UPSTREAM_5XX", "CIRCUIT_OPEN"]
    assert list(open_circuits()) == ["notes"]
    assert run(second.id, "a").result == {"value": 1}
    assert statuses(second.id) == {"a": "succeeded"}


def test_a_shared_cached_result_is_marked(tools: dict[str, Tool]) -> None:
    """Another conversation's step gets the cached result, and its record says so."""
    tools["sim.wait"] = replace(tools["sim.wait"], cache_s=60)
    ends = [run(running_turn(step("a"), conversation_id=name).id, "a") for name in "cd"]

    assert [(end.status, end.result["ms"], end.cache) for end in ends] == [
        ("succeeded", 1, None),
        ("succeeded", 1, "shared"),
    ]


def test_a_failure_does_not_contain_secrets(tools: dict[str, Tool]) -> None:
    """The secret is masked in the tool's own message and in the events."""

    def fails(query: Any, context: ToolContext) -> Any:
        raise ToolFailed(f"{query.value['pin']} is not the PIN of {query.value['name']}", code="VALIDATION_ERROR")

    tools["sim.write"] = replace(tools["sim.write"], redact=frozenset({"pin"}), call=fails)
    turn = running_turn(step("w", tool="sim.write", args={"value": {"pin": 482913, "name": "Noa"}}))

    ended = run(turn.id, "w")

    assert (ended.error or {})["message"] == "*** is not the PIN of Noa"
