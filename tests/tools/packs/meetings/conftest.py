"""People with calendars on a Friday in November, and a calendar server."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import time_machine

from tests.tools.packs.meetings.arranging import FRIDAY, settle_people
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
