"""Plans in hand-written Celery: a chord for each wave, whose body starts the next wave. No-op steps, no record.

The baseline of `plans` and `turns`: the same settings, queues, pools and number of processes as ours, in a database of
the same Valkey that it has to itself (REDIS_URL).
"""

from celery import Celery, chain, chord

from models.redis import redis
from models.settings import settings
from workers.app import app as ours

DONE = "bare:done"
"""Counts the plans that have come to their end."""
_SAME = (
    "broker_transport_options",
    "broker_pool_limit",
    "task_queues",
    "task_default_queue",
    "task_ignore_result",
    "result_expires",
    "result_chord_expires",
    "worker_prefetch_multiplier",
    "worker_send_task_events",
    "worker_hijack_root_logger",
)

app = Celery("bare", broker=settings().redis_url, backend=settings().redis_url)
app.conf.update({name: ours.conf[name] for name in _SAME})


@app.task(name="noop")
def noop() -> None:
    """Stand for a tool call that takes no time."""


@app.task(name="wave")
def wave(widths: list[int]) -> None:
    """Run as many steps side by side as the first width says, then the waves after it. Without one, count the plan."""
    if not widths:
        redis().incr(DONE)
        return
    steps = [noop.si().set(queue="tools.io") for _ in range(widths[0])]
    after = wave.si(widths[1:]).set(queue="tools.io")
    (chord(steps, after) if len(steps) > 1 else chain(steps[0], after)).apply_async()
