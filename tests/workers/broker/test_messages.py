"""Messages are written as Celery and kombu write them."""

import json
from base64 import b64decode
from typing import Any
from uuid import uuid4

import pytest
from kombu import Connection, Consumer, Exchange, Queue

from turnloom.models.connections.redis import redis
from turnloom.workers import dispatch
from turnloom.workers.broker.app import app
from turnloom.workers.broker.messages import TaskMessage
from turnloom.workers.broker.transport import Transport

pytestmark = pytest.mark.usefixtures("redis_url")

BODY = app.signature("join", args=("turn",), immutable=True, queue="tools.io")
FOLLOWS: list[dict[str, Any]] = [
    {},
    {"chain": [BODY, BODY]},
    {"chord": BODY, "group_id": str(uuid4()), "group_index": 3},
]


def taken(queue: str) -> dict[str, Any]:
    """Take a message from a queue and open its body, without values that are unique or that Celery repeats."""
    raw = redis().rpop(queue)
    assert isinstance(raw, bytes)
    message = json.loads(raw)
    message["body"] = json.loads(b64decode(message["body"]))
    for unique in ("id", "root_id"):
        assert message["headers"].pop(unique)
    for unimportant in ("correlation_id", "delivery_tag", "reply_to", "argsrepr", "kwargsrepr"):
        message["properties"].pop(unimportant, None)
    return message  # type: ignore[no-any-return]


@pytest.mark.parametrize("follows", FOLLOWS, ids=["nothing", "a chain", "a chord"])
def test_a_message_is_what_celery_would_send(follows: dict[str, Any]) -> None:
    """In the queue, our message and Celery's are equal."""
    args = ("turn", [["a", "ü"]], 1, 4)
    shown = {"argsrepr": "turn a", "kwargsrepr": "{}", "shadow": "sim.wait", "time_limit": 7}

    dispatch.publish([TaskMessage("run_steps", args, "tools.io", "turn a", "sim.wait", 7, follows)])
    app.signature("run_steps", args=args, **shown).apply_async(queue="tools.io", ignore_result=True, **follows)

    assert taken("tools.io") == taken("tools.io")


def test_messages_keep_their_order() -> None:
    """Each queue is first in, first out."""
    dispatch.publish([TaskMessage("join", (number,), "plan" if number % 2 else "tools.io", "") for number in range(6)])

    assert [taken("plan")["body"][0] for _ in range(3)] == [[1], [3], [5]]
    assert [taken("tools.io")["body"][0] for _ in range(3)] == [[0], [2], [4]]


def test_a_malformed_message_ends_no_worker(redis_url: str) -> None:
    """A malformed message is logged and skipped, or passed to the decode error handler, and takes no place."""
    heard: list[Any] = []
    refused: list[Any] = []
    way = {"exchange": "", "routing_key": "plan"}
    garbled = {"properties": {"delivery_tag": "t", "delivery_info": way}, "headers": {"task": "join"}}
    garbled |= {"content-type": "application/json", "body": "{"}

    def refuse(message: Any, _: Exception) -> None:
        refused.append(message)
        message.ack()

    with Connection(redis_url, transport=Transport) as connection:
        queue = Queue("plan", Exchange("plan"), routing_key="plan")
        consumer = Consumer(connection, [queue], callbacks=[lambda body, _: heard.append(body)], on_decode_error=refuse)
        consumer.qos(prefetch_count=1)
        with consumer:
            for nonsense in (b"no json", b"[]", b'"text"', b"{}", json.dumps(garbled).encode()):
                redis().lpush("plan", nonsense)
            dispatch.publish([TaskMessage("join", ("turn",), "plan", "")])
            while not heard:
                connection.drain_events(timeout=5)

    assert (heard[0][0], len(refused)) == (["turn"], 1)
