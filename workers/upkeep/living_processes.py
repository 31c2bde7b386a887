"""Living processes are counted here: those that will work on accepted turns."""

from dataclasses import dataclass

from turnloom.models.connections.database import transaction
from turnloom.models.connections.redis import beat_lives
from turnloom.models.ledger import workers
from turnloom.workers.broker.queues import LIVE_QUEUES, QUEUES
from turnloom.workers.dispatch import ALIVE


@dataclass(frozen=True, slots=True)
class LivingProcesses:
    """The processes that are alive."""

    slots: dict[str, int]
    """Queue -> the number of tasks that its living workers run at the same time; 0 if it has none."""
    beat: bool
    """Whether beat sends the periodic tasks."""

    @property
    def unserved(self) -> tuple[str, ...]:
        """The queues that turns need and that no living worker takes from."""
        return tuple(queue for queue in LIVE_QUEUES if not self.slots.get(queue))

    @property
    def lacking(self) -> str | None:
        """A sentence about what is missing; None if nothing is."""
        missing = [f"no living worker takes from {', '.join(self.unserved)}"] if self.unserved else []
        missing += [] if self.beat else ["beat does not run"]
        return f"{'; '.join(missing)}: start the missing processes" if missing else None


def living_processes() -> LivingProcesses:
    """Return the processes with a sign of life within six seconds: workers in Postgres, beat in Redis.

    Raises:
        Unavailable: Postgres or Redis does not answer.
    """
    return LivingProcesses(worker_slots(), beat_lives())


def worker_slots() -> dict[str, int]:
    """Return for each queue the number of tasks that its living workers run at the same time.

    Raises:
        Unavailable: Postgres does not answer.
    """
    with transaction() as db:
        served = workers.slots_by_queue(db, ALIVE)
    return {queue: served.get(queue, 0) for queue in QUEUES}
