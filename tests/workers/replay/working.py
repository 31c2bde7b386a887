"""Work on replays in the test's own process."""

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

import pytest

from tests.planner.llm.scripted import Script, scripted_server
from turnloom.models.connections.database import statement
from turnloom.models.runtime.settings import settings
from turnloom.workers.replay.tasks import replay_task
from turnloom.workers.turns import process_parts


@contextmanager
def scripted_parts(monkeypatch: pytest.MonkeyPatch) -> Iterator[Script]:
    """Give this process a language model from a script, and the sim pack's tools."""
    parts = (process_parts.llm, process_parts.registry)
    with scripted_server() as serving:
        monkeypatch.setenv("OPENAI_BASE_URL", serving.url)
        monkeypatch.setenv("TURNLOOM_PACKS", '["sim"]')
        settings.cache_clear()
        for part in parts:
            part.cache_clear()
        yield serving
    for part in parts:
        part.cache_clear()


def work_off(replay_id: UUID | str) -> None:
    """Run the tasks of a replay until it has ended. On a busy machine one task does not get far."""
    with statement() as db:
        query = "SELECT 1 FROM replays WHERE id = %s AND status = 'running'"
        is_running = db.execute(query, (str(replay_id),)).fetchone() is not None
    if is_running:
        replay_task(str(replay_id))
        work_off(replay_id)
