"""Work on replays in the test's own process."""

from uuid import UUID

from turnloom.models.connections.database import statement
from turnloom.workers.replay.tasks import replay_task


def work_off(replay_id: UUID | str) -> None:
    """Run the tasks of a replay until it has ended. On a busy machine one task does not get far."""
    with statement() as db:
        query = "SELECT 1 FROM replays WHERE id = %s AND status = 'running'"
        is_running = db.execute(query, (str(replay_id),)).fetchone() is not None
    if is_running:
        replay_task(str(replay_id))
        work_off(replay_id)
