"""Drive our own turns: open them in the ledger and dispatch them as the API does, but without HTTP.

The other systems have no API either. The driver learns of a turn's end from the workers' announcements.
"""

import asyncio
import threading
import time
from collections.abc import Iterator
from hashlib import sha256
from queue import SimpleQueue
from uuid import UUID

from benchmarks.drivers.orders import Order, one_by_one, serve
from benchmarks.waves import Needs
from turnloom.models.connections.database import statement, transaction
from turnloom.models.connections.redis import CHANNEL, listen, read_announcement, redis
from turnloom.models.contracts.turn import TurnRequest
from turnloom.models.ledger import keys, tenants, turns
from turnloom.models.ledger.turns import NewTurn
from turnloom.models.runtime.ids import new_id
from turnloom.models.runtime.settings import settings
from turnloom.workers.dispatch import dispatch_turns

_PATIENCE_S = 60.0
_POLL_S = 0.01


def plan(needs: Needs) -> dict[str, object]:
    """Return a plan of tools that take no time, as a caller posts it."""
    call = {"tool": "sim.wait", "args": {"ms": 0}}
    return {"steps": [{"id": step, **call, "needs": list(direct)} for step, direct in needs.items()]}


def open_turn(tenant_id: UUID, request: TurnRequest) -> UUID:
    """Accept a message and send its turn to the planners."""
    new = NewTurn(
        id=new_id(),
        tenant_id=tenant_id,
        conversation_id=request.conversation_id or str(new_id()),
        channel="api",
        body_hash=sha256(request.message.encode()).digest(),
        default_agent=settings().default_agent,
        deadline_ms=settings().turn_deadline_ms,
        request=request,
    )
    with statement() as db:
        opened = turns.open_turn(db, new)
    assert opened.turn_id is not None, opened
    if opened.is_sent:
        dispatch_turns([opened.turn_id])
    return opened.turn_id


class _Driver:
    def __init__(self) -> None:
        with transaction() as db:
            self._tenant_id = tenants.ensure(db, keys.DEVELOPMENT_TENANT)
        self._announced: SimpleQueue[tuple[str, set[str]]] = SimpleQueue()
        others = _listeners()
        threading.Thread(target=self._listen, daemon=True).start()
        while _listeners() <= others:
            time.sleep(_POLL_S)

    async def drive(self, order: Order) -> list[float]:
        request = TurnRequest(message="go", agent="generic", plan=plan(order.needs))
        return one_by_one(order, lambda: str(open_turn(self._tenant_id, request)), self._ended())

    def _ended(self) -> Iterator[str]:
        while True:
            turn_id, kinds = self._announced.get(timeout=_PATIENCE_S)
            if "turn.succeeded" in kinds:
                yield turn_id
            elif "turn.failed" in kinds:
                raise RuntimeError(f"turn {turn_id} has failed")

    def _listen(self) -> None:
        for message in listen():
            for turn_id, events in read_announcement(message) if message else ():
                self._announced.put((turn_id, {kind for _, kind, _ in events}))


def _listeners() -> int:
    return int(redis().pubsub_numsub(CHANNEL)[0][1])


if __name__ == "__main__":
    asyncio.run(serve(_Driver().drive))
