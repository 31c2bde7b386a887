"""The Celery application, with the settings that Redis as a broker has proved to need.

docs/decisions/0003-worker-pools.md gives the reasons; docs/decisions/0001-ledger-and-canvas.md says why a lost message
loses no work.
"""

from typing import Any

from celery import Celery, Task
from celery.signals import after_task_publish, setup_logging
from kombu import Exchange, Queue
from kombu.transport import TRANSPORT_ALIASES

from turnloom.models.runtime.crash_points import reach
from turnloom.models.runtime.logging import configure_logging, log
from turnloom.models.runtime.settings import settings
from turnloom.workers.broker.queues import QUEUES

_FAIL_SOON = {"max_retries": 1, "interval_start": 0}
"""If the broker is out or hangs, publishing fails soon: the ledger holds the work, and the sweep sends it again."""
_REDIS_OPTIONS = {
    "ack_emulation": False,
    "socket_connect_timeout": 2,
    "socket_timeout": 5,
    "priority_steps": [0],
}
"""One BRPOP per message instead of nine commands; the leases of a killed worker show the work that it held. No queue
has priorities: each would be another list to look into."""
_UPKEEP_S = {
    "seal_audit": 60,
    "sum_usage": 60,
    "check_rollouts": 60,
    "keep_quality": 1800,
    "prune_recordings": 60,
    "resume_replays": 10,
}
"""The periodic tasks of the queue `maintenance`, and the seconds between two runs of each."""
_WITH_EVAL_KEY_S = {"hold_golden": 60}
"""Those that need `TURNLOOM_EVAL_KEY`."""


class RoadTask(Task):  # type: ignore[type-arg]
    """The base of our tasks. An exception that escapes from one is logged with its ids; arguments are ids."""

    abstract = True
    if settings().has_fast_broker:
        Request = "turnloom.workers.broker.task_request:TaskRequest"

    def on_failure(self, exc: BaseException, task_id: str, args: Any, *_: Any) -> None:
        """Log an exception that Celery caught at the edge."""
        turn_id = args[0] if args else None
        log.error("task.failed", task=self.name, task_id=task_id, turn_id=turn_id, exc_info=exc)


def make_app(backend: str, **options: Any) -> "Celery[Task[Any, Any]]":
    """Return an application with our settings. `options` are those of `Celery`."""
    url = settings().broker_url or settings().redis_url
    if settings().has_fast_broker:
        TRANSPORT_ALIASES.update(dict.fromkeys(("redis", "rediss"), "turnloom.workers.broker.transport:Transport"))
    made: Celery[Task[Any, Any]] = Celery("turnloom", broker=url, backend=backend, task_cls=RoadTask, **options)
    made.conf.update(
        include=[
            *(
                "turnloom.workers.planning",
                "turnloom.workers.broker.canvas",
                "turnloom.workers.execution",
                "turnloom.workers.running.lanes",
                "turnloom.workers.responding",
                "turnloom.workers.delivery",
                "turnloom.workers.callbacks",
                "turnloom.workers.recovery",
                "turnloom.workers.replay.tasks",
            ),
            *(
                "turnloom.workers.upkeep.heartbeat",
                "turnloom.workers.upkeep.admission",
                "turnloom.workers.upkeep.cleaning",
            ),
            *(
                "turnloom.workers.upkeep.summaries",
                "turnloom.workers.upkeep.audit_seal",
                "turnloom.workers.upkeep.golden_nights",
                "turnloom.workers.upkeep.quality",
                "turnloom.workers.upkeep.recording_retention",
                "turnloom.workers.upkeep.rollouts",
                "turnloom.workers.turns.accounting",
            ),
        ],
        task_queues=[Queue(name, Exchange(name), routing_key=name) for name in QUEUES],
        task_default_queue="maintenance",
        task_create_missing_queues=False,
        broker_transport_options=_FAIL_SOON if settings().broker_url else _FAIL_SOON | _REDIS_OPTIONS,
        broker_connection_retry_on_startup=True,
        broker_pool_limit=32,
        task_publish_retry_policy={"max_retries": 10, "interval_start": 0, "interval_step": 0.1, "interval_max": 1},
        worker_prefetch_multiplier=1,
        worker_hijack_root_logger=False,
        worker_cancel_long_running_tasks_on_connection_loss=False,
        worker_soft_shutdown_timeout=20,
        # No event when a task is sent: it would come late and replace the tool's name with the task's.
        worker_send_task_events=settings().task_events,
        task_track_started=False,
        task_ignore_result=True,
        beat_schedule={
            **{name: _every(seconds, name, "maintenance") for name, seconds in _upkeep().items()},
            # Runs where tools are called, because it asks the same outside services.
            "clean_up": _every(60, "clean_up", "tools.io"),
        },
    )
    return made


def _upkeep() -> dict[str, int]:
    return _UPKEEP_S | (_WITH_EVAL_KEY_S if settings().eval_key else {})


def _every(seconds: int, task: str, queue: str) -> dict[str, Any]:
    """Return a periodic task for Beat. When its next run is due, one that still waits is pointless."""
    return {"task": task, "schedule": float(seconds), "options": {"queue": queue, "expires": seconds}}


app = make_app("turnloom.workers.broker.chords:Backend" if settings().has_fast_broker else settings().redis_url)


@setup_logging.connect
def _log_our_way(**_: Any) -> None:
    configure_logging()


@after_task_publish.connect
def _note_sent(sender: str | None = None, **_: Any) -> None:
    reach(f"{sender}.sent")
