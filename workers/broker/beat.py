"""Beat has its own application, with the schedule but no tasks or results, so that it starts fast and stays small."""

from contextlib import suppress
from socket import gethostname
from typing import Any

from celery import beat
from celery.signals import beat_init

from turnloom.models.connections import redis
from turnloom.models.errors import Unavailable
from turnloom.workers.broker.app import make_app
from turnloom.workers.upkeep import watchdog
from turnloom.workers.upkeep.liveness_file import LivenessFile

app = make_app("disabled", set_as_current=False)
app.conf.update(include=[], beat_max_loop_interval=2.0)

ALIVE_S = 6.0
"""Beat counts as gone after three missed ticks."""


class Scheduler(beat.Scheduler):
    """Celery's scheduler, which records with each tick that it runs."""

    def tick(self, *args: Any, **kwargs: Any) -> float:
        """Send what is due; return the seconds until the next tick."""
        with suppress(Unavailable):  # sending would report it, too
            redis.note_beat(ALIVE_S)
        wait_s: float = super().tick(*args, **kwargs)
        return wait_s


@beat_init.connect
def _start(**_: Any) -> None:
    LivenessFile("beat", f"beat@{gethostname()}").start()
    watchdog.start()
