"""Metrics are the counts of all processes together, under names whose meaning stands here.

A process counts in memory, and every two seconds adds the new counts to one hash in Redis. A process that is killed
loses up to two seconds of counts. Redis may lose the hash: readers of counters expect that they start again from zero.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, cast

import orjson
from redis import RedisError

from turnloom.models.connections.redis import redis
from turnloom.models.errors import Unavailable
from turnloom.models.runtime.counters import Counts, Series, counts
from turnloom.models.runtime.daemon import FAILURES

_KEY = "turnloom:metrics"


@dataclass(frozen=True, slots=True)
class Metric:
    """The meaning of a metric's name."""

    kind: Literal["counter", "histogram", "gauge"]
    help: str
    labels: tuple[str, ...]


COUNTED = {
    "turnloom_tool_calls_total": Metric(
        "counter",
        "Calls of a tool that have ended, by outcome: `succeeded`, `needs_input`, `failed`, `unknown`, `cancelled`.",
        ("tool", "status"),
    ),
    "turnloom_tool_errors_total": Metric("counter", "Calls that ended in an error, by its code.", ("tool", "code")),
    "turnloom_tool_missing_fields_total": Metric(
        "counter",
        "Fields that a call had to ask the user for; `undeclared` if the tool does not declare them.",
        ("tool", "field"),
    ),
    "turnloom_tool_retries_total": Metric(
        "counter", "Further tries within calls, by the error that led to them.", ("tool", "code")
    ),
    "turnloom_tool_cached_total": Metric(
        "counter",
        "Calls that were answered with a known result, of the conversation (`memory`) or of the tenant (`shared`).",
        ("tool", "cache"),
    ),
    "turnloom_tool_duration_seconds": Metric(
        "histogram", "Duration of the calls made, tries and pauses included.", ("tool",)
    ),
    "turnloom_channel_items_total": Metric(
        "counter",
        "What providers of channels have posted: `message`, `answer` to a request for approval, `repeated`, `receipt`, "
        "`edit`, `kept` without an answer, `refused` because the backlog was full.",
        ("channel", "kind"),
    ),
    "turnloom_deliveries_total": Metric(
        "counter",
        "Attempts to send a part of a reply, by what became of it: a status, or `retried` if it is tried again.",
        ("channel", "status"),
    ),
    "turnloom_callbacks_total": Metric(
        "counter",
        "Attempts to send a callback, by what became of it: `delivered`, `retried` if it is tried again, `failed` if "
        "it was given up.",
        ("status",),
    ),
    "turnloom_rollouts_taken_back_total": Metric(
        "counter", "Rollouts that were taken back because their new text did worse.", ()
    ),
    "turnloom_llm_schemas_refused_total": Metric(
        "counter",
        "Calls that the endpoint refused because their response schema was too large for it.",
        ("model",),
    ),
    "turnloom_news_malformed_total": Metric(
        "counter", "Messages on the channel of live events that could not be read and were skipped.", ()
    ),
    "turnloom_connections_dropped_total": Metric(
        "counter",
        "Connections to the API that we ended: `header`, `body` or `answer` took too long; the `address` had too many; "
        "`crowded`: one that was silent had to make room.",
        ("reason",),
    ),
    "turnloom_requests_refused_total": Metric(
        "counter",
        "Requests to the API that were refused because of too much of something, by the code of the error.",
        ("code",),
    ),
    FAILURES: Metric(
        "counter",
        "Failures of a background thread, by its name. The thread goes on; the log says what happened.",
        ("daemon",),
    ),
}
"""Metrics that processes count: name -> its meaning."""

OBSERVED = {
    "turnloom_circuits_open": Metric(
        "gauge", "Open circuits, by outside service; `account` for those of users' accounts.", ("integration",)
    ),
    "turnloom_queue_messages": Metric("gauge", "Messages that wait in a queue.", ("queue",)),
    "turnloom_worker_slots": Metric(
        "gauge", "Tasks that the living workers of a queue run at the same time; 0 if it has no worker.", ("queue",)
    ),
    "turnloom_beat_alive": Metric("gauge", "1 while beat sends the periodic tasks, otherwise 0.", ()),
    "turnloom_turns": Metric(
        "gauge",
        "Turns that are not final, by status and class (`interactive`, `batch`), without those that wait for a person.",
        ("status", "priority"),
    ),
    "turnloom_queue_oldest_seconds": Metric(
        "gauge", "The longest time that anything in the ledger has waited for a worker of a queue.", ("queue",)
    ),
    "turnloom_dead_letters": Metric(
        "gauge",
        "What did not end properly: a `step` of unknown effect, a `turn`, a `delivery`, a `callback`.",
        ("kind",),
    ),
    "turnloom_recent_turns": Metric(
        "gauge",
        "Turns of the last five minutes, the newest 2,000 at most, by outcome: `failed`, `ended` in all.",
        ("is",),
    ),
    "turnloom_recent_turn_seconds": Metric(
        "gauge",
        "Time that these turns took for a part of their work (`queue`, `plan`, `tools`, `answer`, `delivery`).",
        ("segment", "quantile"),
    ),
    "turnloom_paused_conversations": Metric(
        "gauge", "Conversations in which a person writes and the agent does not answer.", ()
    ),
}
"""Metrics that are measured whenever somebody asks: name -> its meaning."""

HANDED_ON_S = 2.0
"""The pause between two times that a process hands on its counts."""


def hand_on(of: Counts | None = None) -> None:
    """Add this process's counts to the shared ones; keep them for the next time if Redis does not answer."""
    (of or counts()).hand_on(_add)


def _add(counted: Mapping[Series, float]) -> None:
    try:
        with redis().pipeline(transaction=False) as pipe:
            for series, amount in counted.items():
                pipe.hincrbyfloat(_KEY, orjson.dumps(series).decode(), amount)
            pipe.execute()
    except RedisError as error:
        raise Unavailable(f"Redis does not answer: {error}", code="redis_unavailable") from error


def read_counts() -> Mapping[Series, float]:
    """Return the counts of all processes together.

    Raises:
        Unavailable: Redis does not answer.
    """
    try:
        stored = cast("dict[bytes, bytes]", redis().hgetall(_KEY))
    except RedisError as error:
        raise Unavailable(f"Redis does not answer: {error}", code="redis_unavailable") from error
    return {tuple(orjson.loads(series)): float(amount) for series, amount in stored.items()}
