"""Final turns with callbacks, and receivers of them."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from sqlalchemy import text
from werkzeug import Request, Response

from tests.factories import claim_turn, finish_turn, make_tenant, open_turn
from tests.tools.serving import LocalServer
from turnloom.models.connections.database import transaction
from turnloom.models.ledger import callbacks
from turnloom.models.tables.callbacks import CallbackRow
from turnloom.workers.callbacks import call_back


@dataclass
class Receiver:
    """A receiver of callbacks, and what it got."""

    url: str
    answers: list[Response | Callable[[], Response]] = field(default_factory=list)
    """What it answers, one after the other; 204 when there is nothing left."""
    got: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    """Headers, in lower case, and body of each request."""

    @property
    def ids(self) -> list[str]:
        return [headers["webhook-id"] for headers, _ in self.got]

    def document(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.got[-1][1])
        return found


@contextmanager
def receiver(host: str = "127.0.0.1") -> Iterator[Receiver]:
    """Run a receiver of callbacks at any path of its URL."""
    turn = threading.Lock()
    with LocalServer(host) as server:
        made = Receiver(f"http://{host}:{server.port}/done?for=me")

        def answer(request: Request) -> Response:
            with turn:
                headers = {name.lower(): value for name, value in request.headers.items()}
                made.got.append((headers, request.get_data()))
                given = made.answers.pop(0) if made.answers else Response(status=204)
            return given if isinstance(given, Response) else given()

        server.expect_request("/done", method="POST").respond_with_handler(answer)
        yield made


def final_turn(url: str, *, conversation_id: str = "c1", tenant: str = "acme") -> UUID:
    """Return a final turn whose callback is due."""
    opened = open_turn(make_tenant(tenant), conversation_id=conversation_id, callback_url=url)
    turn = claim_turn(opened.turn_id)
    assert turn is not None
    finished = finish_turn(turn)
    assert finished is not None
    assert finished.call_back
    return turn.id


def send_due(turn_id: UUID) -> CallbackRow:
    """Send what is due, as a worker does, and return the turn's callback."""
    call_back(str(turn_id))
    return of_turn(turn_id)


def of_turn(turn_id: UUID) -> CallbackRow:
    with transaction() as db:
        found = callbacks.of_turn(db, make_tenant_of(db, turn_id), turn_id)
    assert found is not None
    return found


def make_tenant_of(db: Any, turn_id: UUID) -> UUID:
    found: UUID = db.scalar(text("SELECT tenant_id FROM turns WHERE id = :id"), {"id": turn_id})
    return found


def let_pass(hours: float) -> None:
    """Move all callbacks into the past."""
    move = "UPDATE callbacks SET due_at = due_at - :by, queued_at = queued_at - :by"
    with transaction() as db:
        db.execute(text(move.replace(":by", "make_interval(secs => :seconds)")), {"seconds": hours * 3600})
