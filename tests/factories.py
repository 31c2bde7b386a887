"""Make turns and plans in the ledger as the lifecycle does."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from turnloom.models.connections.database import statement, transaction
from turnloom.models.connections.redis import queue_lengths
from turnloom.models.contracts.plan import Plan
from turnloom.models.contracts.turn import Reply, TurnRequest
from turnloom.models.contracts.usage import LlmCall
from turnloom.models.ledger import plans, tenants, turns
from turnloom.models.ledger.free_llm_slots import Crowded
from turnloom.models.ledger.memory import Recalled, read_recalled
from turnloom.models.ledger.plans import NewPlan
from turnloom.models.ledger.steps import Capacity, Holder
from turnloom.models.ledger.turns import ClaimedTurn, Ending, FinishedTurn, NewTurn, OpenedTurn
from turnloom.models.runtime.ids import new_id
from turnloom.planner.plan.graph import Fragment, Node, fragments
from turnloom.tools.registry import load_registry
from turnloom.workers.compiling import compile_plan, fragment_rows

REGISTRY = load_registry(["sim"])
NOTHING = Capacity("plan", 0)
"""The capacity of a planner that runs no steps itself."""
PLANNER = Holder("planner", 60_000)


def queue_length(queue: str) -> int:
    """Return the number of messages that wait in a queue."""
    lengths = queue_lengths([queue])
    assert lengths is not None
    return lengths[queue]


def make_tenant(name: str = "acme") -> UUID:
    with transaction() as db:
        return tenants.ensure(db, name)


def open_turn(
    tenant_id: UUID,
    message: str = "hello",
    *,
    conversation_id: str = "c1",
    body: bytes = b"body",
    held: Mapping[str, int] | None = None,
    **request: Any,
) -> OpenedTurn:
    """Open a turn; `held` are its `sequence`, `order_ms` and `burst_ms`."""
    new = NewTurn(
        id=new_id(),
        tenant_id=tenant_id,
        conversation_id=conversation_id,
        channel="api",
        body_hash=body,
        default_agent="generic",
        deadline_ms=60_000,
        request=TurnRequest(message=message, **request),
        **held or {},
    )
    with statement() as db:
        return turns.open_turn(db, new)


def claim_turn(turn_id: UUID | None, lease_ms: int = 60_000) -> ClaimedTurn | None:
    assert turn_id is not None
    with statement() as db:
        claimed = turns.claim(db, turn_id, lease_ms)
    assert not isinstance(claimed, Crowded)
    return claimed


def step(name: str, *needs: str, tool: str = "sim.wait", **fields: Any) -> dict[str, Any]:
    """Return one step of a plan: by default a `sim.wait` of a millisecond."""
    args = fields.pop("args", {"ms": 1} if tool == "sim.wait" else {})
    return {"id": name, "tool": tool, "args": args, "needs": list(needs), **fields}


def record_plan(
    turn: ClaimedTurn,
    *steps: dict[str, Any],
    max_steps: int = 16,
    cap: int | None = None,
    calls: Sequence[LlmCall] = (),
) -> None:
    """Record a plan for a claimed turn, compiled as by the planner."""
    plan = Plan.model_validate({"steps": list(steps)})
    compiled = compile_plan(plan, REGISTRY, "spread", cap)
    parts = compiled.fragments if max_steps > 1 else _single(compiled.steps)
    new = NewPlan(
        plan=plan,
        source="caller",
        trace={},
        steps=compiled.steps,
        fragments=fragment_rows(parts),
        placement="spread",
        max_parallel=compiled.max_parallel,
        calls=calls,
    )
    with statement() as db:
        assert plans.record(db, turn.id, turn.attempt, new, NOTHING, PLANNER) is not None


def _single(rows: list[dict[str, Any]]) -> list[Fragment]:
    """Return a fragment for each step."""
    names = ("id", "needs", "queue", "tool", "effect", "inline")
    return fragments([Node(*(row[name] for name in names)) for row in rows], 1)


def running_turn(*steps: dict[str, Any], max_steps: int = 16, cap: int | None = None, **request: Any) -> ClaimedTurn:
    """Return a turn whose plan is recorded. Its first steps can be claimed."""
    opened = open_turn(make_tenant(), **request)
    turn = claim_turn(opened.turn_id)
    assert turn is not None
    record_plan(turn, *steps, max_steps=max_steps, cap=cap)
    return turn


def finish_turn(turn: ClaimedTurn, attempt: int | None = None, text: str = "done") -> FinishedTurn | None:
    with statement() as db:
        return turns.finish(db, turn.id, attempt or turn.attempt, Ending("succeeded", Reply(text=text), {}))


def recall(turn: ClaimedTurn, most: int = 24) -> Recalled:
    """Return what a turn's planner would now get from its conversation."""
    with statement() as db:
        row = db.execute("SELECT hot.recall(t, %s, 20) FROM turns t WHERE t.id = %s", (most, turn.id)).fetchone()
    assert row is not None
    return read_recalled(row[0])


def heard(turn: ClaimedTurn, most: int = 24) -> list[tuple[str, str]]:
    """Return the exchanges that a turn's planner gets word by word."""
    return [(exchange.message, exchange.reply) for exchange in recall(turn, most).history]


def work(turn_id: UUID | None) -> list[UUID]:
    """Plan and answer a turn. Return the turns that may be planned after it."""
    turn = claim_turn(turn_id)
    assert turn is not None
    finished = finish_turn(turn)
    assert finished is not None
    return finished.released


def work_all() -> None:
    """Plan and answer turns until no more are released."""
    ready = released()
    while ready:
        ready += work(ready.pop())
        ready += released()


def released() -> list[UUID]:
    """Release the held turns that may go on. Return them."""
    with statement() as db:
        return turns.release_due(db)
