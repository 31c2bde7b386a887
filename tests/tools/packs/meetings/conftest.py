"""People with calendars on a Friday in November, and a calendar server."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import time_machine

from tests.tools.packs.meetings.arranging import FRIDAY, connect_calendar, events, settle_people
from tests.tools.packs.meetings.servers import CalendarServer, radicale
from turnloom.models.contracts.envelope import Envelope
from turnloom.models.runtime import secrets
from turnloom.models.runtime.ids import new_id
from turnloom.models.runtime.settings import settings
from turnloom.tools.context import ToolContext
from turnloom.tools.registry import load_registry
from turnloom.tools.runner import run

REGISTRY = load_registry(["meetings"])

Ask = Callable[..., Envelope]


@pytest.fixture
def keys(database: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Set a key that encrypts secrets, and allow calendar servers on this machine."""
    monkeypatch.setenv("TURNLOOM_SECRET_KEYS", f'["{secrets.new_key()}"]')
    monkeypatch.setenv("TURNLOOM_ALLOWED_HOSTS", '["127.0.0.1"]')
    settings.cache_clear()
    yield
    settings.cache_clear()


@pytest.fixture
def people(keys: None) -> Iterator[None]:
    """Put Noa, David and Mia into the directory on that day, all connected."""
    settle_people()
    with time_machine.travel(FRIDAY, tick=True):
        yield


@pytest.fixture
def ask(make_context: Callable[..., ToolContext]) -> Ask:
    """Call a tool of the pack for a user. Each call is another one unless the key is given."""

    def call(
        tool: str,
        user: str = "noa",
        *,
        conversation: str = "c1",
        key: str | None = None,
        time_s: float = 10.0,
        **args: Any,
    ) -> Envelope:
        context = make_context(
            user={"id": user}, conversation_id=conversation, idempotency_key=key or str(new_id()), time_s=time_s
        )
        return run(REGISTRY.get(f"network.{tool}_meeting"), args, context)

    return call


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CalendarServer]:
    """Run a calendar server. Each test makes its own calendars."""
    with radicale(tmp_path_factory.mktemp("radicale")) as started:
        yield started


@dataclass
class Calendars:
    """The calendars of two users on the server, and their events."""

    server: CalendarServer

    def standing(self) -> list[list[str]]:
        """Return the events of each calendar, on the server and in our database."""
        return [[*self.server.uids(user), *(status for _, status in events(user))] for user in ("noa", "david")]


@pytest.fixture
def calendars(server: CalendarServer) -> Calendars:
    for user in ("noa", "david"):
        connect_calendar(user, server.make_calendar(user))
    return Calendars(server)


@pytest.fixture
def arm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Let the next processes die at these points, one after the other."""

    def write(points: str) -> Path:
        path = tmp_path / "crash_at"
        path.write_text("".join(f"{point}\n" for point in points.split()))
        monkeypatch.setenv("TURNLOOM_CRASH_AT", str(path))
        settings.cache_clear()
        return path

    return write
