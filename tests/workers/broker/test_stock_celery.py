"""With `TURNLOOM_BROKER_FAST=0`, messages and canvases are Celery's own."""

import json
from base64 import b64decode
from collections.abc import Iterator
from uuid import uuid4

import pytest
from celery.canvas import Signature
from hypothesis import given
from hypothesis import settings as examples

from tests.planner.plan.test_graph import QUEUES, dags, nodes
from turnloom.models.connections.redis import redis
from turnloom.models.runtime.settings import settings
from turnloom.planner.plan.graph import fragments
from turnloom.workers import dispatch
from turnloom.workers.broker import stock_celery
from turnloom.workers.broker.app import make_app
from turnloom.workers.broker.canvas import build, stock_canvas
from turnloom.workers.broker.chords import Fork
from turnloom.workers.broker.messages import TaskMessage

MESSAGE = TaskMessage("run_steps", ("turn", [["a"]], 1, 4), "tools.io", "turn a", "sim.wait", 7)


def parts(canvas: Signature) -> Iterator[Signature]:
    """Yield a canvas and all its parts."""
    yield canvas
    for task in canvas.get("kwargs", {}).get("tasks", ()) or canvas.get("kwargs", {}).get("header", ()):
        yield from parts(task)


@given(dags())
@examples(max_examples=50)
def test_a_stock_canvas_has_only_celerys_parts(needs: dict[str, tuple[str, ...]]) -> None:
    """All chains, groups and chords are those that Celery's own operators make."""
    for fragment in fragments(nodes(needs, QUEUES), 16):
        for canvas in build(uuid4(), 1, [fragment.expression], 1):
            own = stock_canvas(canvas)

            assert not [part for part in parts(own) if isinstance(part, Fork)]
            assert "fork" not in json.dumps(own)


@pytest.mark.usefixtures("redis_url")
def test_messages_are_sent_by_celery(monkeypatch: pytest.MonkeyPatch) -> None:
    """Celery's messages have the same content as ours, and the queue lengths include them."""
    dispatch.publish([MESSAGE])
    monkeypatch.setenv("TURNLOOM_BROKER_FAST", "0")
    settings.cache_clear()

    dispatch.publish([MESSAGE])

    assert stock_celery.queue_lengths(["plan", "tools.io"]) == {"plan": 0, "tools.io": 2}
    ours, celerys = (json.loads(str(redis().rpop("tools.io"), "utf-8")) for _ in range(2))  # type: ignore[arg-type]
    assert b64decode(ours["body"]) == b64decode(celerys["body"]).replace(b", ", b",").replace(b": ", b":")
    assert {name for name, value in ours["headers"].items() if value != celerys["headers"][name]} <= {"id", "root_id"}


def test_a_broker_that_is_out_delays_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Publishing fails with an error that callers expect, and the lengths of queues are unknown."""
    monkeypatch.setenv("TURNLOOM_BROKER_URL", "redis://127.0.0.1:1/0")
    settings.cache_clear()
    monkeypatch.setattr(stock_celery, "app", make_app("disabled", set_as_current=False))

    with pytest.raises(dispatch.PUBLISH_ERRORS):
        dispatch.publish([MESSAGE])

    assert dispatch.queue_lengths(["plan"]) is None
    monkeypatch.undo()
    settings.cache_clear()
