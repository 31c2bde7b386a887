"""With our counting of chords, Celery's own code runs any canvas."""

import json
import random
from base64 import b64decode
from typing import Any
from uuid import uuid4

import pytest
from celery.app.trace import trace_task
from celery.canvas import _chain
from celery.exceptions import Ignore
from celery.states import FAILURE
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.planner.plan.test_graph import QUEUES, dags, nodes
from turnloom.models.connections.redis import _outage, redis
from turnloom.models.runtime.settings import settings as ours
from turnloom.planner.plan.graph import fragments, transitive_closure
from turnloom.workers import dispatch
from turnloom.workers.broker import chords
from turnloom.workers.broker.app import app
from turnloom.workers.broker.canvas import build
from turnloom.workers.broker.chords import Fork, beginning
from turnloom.workers.broker.messages import TaskMessage
from turnloom.workers.running import lanes

pytestmark = pytest.mark.usefixtures("redis_url")

Ran = list[str]


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> Ran:
    """The steps that have run, in order. A step `x` of generation 9 is refused."""
    steps: Ran = []

    def run_steps(turn_id: str, lanes: list[list[str]], generation: int, slots: int) -> None:
        if generation == 9 and lanes == [["x"]]:
            raise Ignore
        steps.extend(step for lane in lanes for step in lane)

    monkeypatch.setattr(app.tasks["run_steps"], "run", run_steps)
    monkeypatch.setattr(app.tasks["run_steps"], "__trace__", None)
    return steps


def lane(*steps: str, generation: int = 1) -> Any:
    shown = {"argsrepr": "", "kwargsrepr": "{}"}
    return app.signature(
        "run_steps", args=("turn", [list(steps)], generation, 1), immutable=True, queue="tools.io", **shown
    )


def take(queue: str) -> dict[str, Any] | None:
    """Take the next message out of a queue."""
    raw = redis().rpop(queue)
    return json.loads(raw) if isinstance(raw, bytes) else None


def carry_out(message: dict[str, Any]) -> None:
    """Run a message through Celery's tracer, as a worker does."""
    headers = message["headers"]
    args, kwargs, embed = json.loads(b64decode(message["body"]))
    request = {**headers, **embed, "args": args, "kwargs": kwargs, "delivery_info": {}, "is_eager": False}
    trace_task(app.tasks[headers["task"]], headers["id"], args, kwargs, request, app=app)


def carry_out_all(choice: random.Random) -> None:
    """Run all waiting messages and those that they send, taking the queues in random order."""
    while waiting := [queue for queue in QUEUES if redis().llen(queue)]:
        message = take(choice.choice(waiting))
        assert message
        carry_out(message)


def begin(canvas: Any) -> list[TaskMessage]:
    messages = [*beginning(canvas)]
    dispatch.publish(messages)
    return messages


@given(dags(), st.integers(0, 2**32))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_canvas_is_carried_out(ran: Ran, needs: dict[str, tuple[str, ...]], seed: int) -> None:
    """In any order of messages, each step of a fragment runs once, and after the steps that it needs."""
    before = transitive_closure(needs)
    for fragment in fragments(nodes(needs, QUEUES), 16):
        redis().flushall()
        ran.clear()
        for canvas in build(uuid4(), 1, [fragment.expression], 1):
            begin(canvas)

        carry_out_all(random.Random(seed))

        assert sorted(ran) == sorted(fragment.steps)
        for place, step in enumerate(ran):
            assert before[step] & set(fragment.steps) <= set(ran[:place])


def test_a_header_is_sent_in_one_command(ran: Ran) -> None:
    """The five tasks of a header go to the broker in one command."""
    redis().config_resetstat()

    begin(Fork([lane(str(number)) for number in range(5)], lane("end")))

    assert redis().info("commandstats")["cmdstat_lpush"]["calls"] == 1
    assert redis().llen("tools.io") == 5


def test_a_copy_counts_once(ran: Ran) -> None:
    """A copy of a header's task does not count for another task, and a late copy does not send the body again."""
    begin(Fork([lane("a"), lane("b")], lane("end")))
    first, second = take("tools.io"), take("tools.io")
    assert first
    assert second

    for message in (first, first):
        carry_out(message)
    assert redis().llen("tools.io") == 0
    for message in (second, second, first):
        carry_out(message)

    assert redis().llen("tools.io") == 1


@pytest.mark.parametrize("generation", [9, 1])
def test_a_refused_task_does_not_count(ran: Ran, generation: int) -> None:
    """If a task of the header is refused or fails, the body is not sent. The ledger knows how to continue."""
    begin(Fork([lane("a"), lane("x", generation=generation)], lane("end")))
    first, second = take("tools.io"), take("tools.io")
    assert first
    assert second
    if generation == 1:
        second["headers"]["task"] = "join"  # `join` takes one argument, not four

    carry_out(first)
    carry_out(second)

    assert redis().llen("tools.io") == 0
    assert ran == ["a"]


def test_an_uncounted_chord_does_not_fail_its_task(
    ran: Ran, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """While Redis is down, a task ends but is not counted. This is logged, and recovery continues."""
    begin(Fork([lane("a")], lane("end")))
    message = take("tools.io")
    assert message
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:1/0")
    ours.cache_clear()
    redis.cache_clear()

    carry_out(message)

    assert ran == ["a"]
    assert "chord.uncounted" in "".join(capsys.readouterr())
    redis.cache_clear()


def test_an_unsent_canvas_does_not_fail_its_task(
    ran: Ran, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """While the broker is down, the next group or body stays in the ledger, and the task that sends it ends."""

    def refuse(*_: object) -> None:
        raise OSError("connection refused")

    begin(_chain(lane("a"), Fork([lane("b"), lane("c")])))
    begin(Fork([lane("d")], lane("end")))
    waiting = [take("tools.io"), take("tools.io")]
    monkeypatch.setattr("turnloom.workers.dispatch.push", refuse)

    for message in waiting:
        assert message
        carry_out(message)

    assert ran == ["a", "d"]
    assert "".join(capsys.readouterr()).count("canvas.unsent") == 2


def test_the_count_of_a_chord_expires(ran: Ran) -> None:
    """The count of a running chord expires after a day, that of a complete one after some minutes."""
    begin(Fork([lane("a"), lane("b")], lane("end")))
    left = []
    while message := take("tools.io"):
        carry_out(message)
        left += [redis().ttl(key) for key in redis().scan_iter("turnloom:chord:*")]

    assert left[0] > 80_000
    assert 0 < left[1] <= 300


def test_a_chord_is_counted_as_soon_as_redis_is_back(ran: Ran) -> None:
    """Other scripts skip a server that did not answer for a while. A missing count would cost a generation."""
    begin(Fork([lane("a"), lane("b")], lane("end")))
    while message := take("tools.io"):
        _outage.begin(redis())
        carry_out(message)

    assert ran == ["a", "b", "end"]


def test_a_failed_task_does_not_count(ran: Ran) -> None:
    """The backend counts only tasks that have succeeded."""
    begin(Fork([lane("a")], lane("end")))
    message = take("tools.io")
    assert message
    embed = json.loads(b64decode(message["body"]))[2]
    request = type("Request", (), {**embed, "group": message["headers"]["group"], "group_index": 0})

    chords.Backend(app).on_chord_part_return(request, FAILURE, None)

    assert redis().llen("tools.io") == 0
    assert lanes.run_steps.backend.__class__ is chords.Backend
