"""Record conversations over HTTP: golden ones, held again and again, and those of people who write to a bot."""

import json
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import cycle, islice

import httpx2

from benchmarks.processes import turnloom
from benchmarks.progress import progress
from turnloom.models.runtime.settings import settings
from turnloom.workers.cli.client import Api
from turnloom.workers.embedded.servers import free_port
from turnloom.workers.embedded.stack import Stack
from turnloom.workers.evals.conversations import Golden, load_golden
from turnloom.workers.evals.runner import hold

AGENTS = ("hotel", "travel")
SETTINGS = {"TURNLOOM_ALLOWED_HOSTS": '["127.0.0.1"]'}
"""Settings of a stack that conversations are recorded in: its replies go to a provider on this machine."""

_AT_ONCE = 6
_ON_CHANNEL = 10
"""One in so many conversations is on the channel, for each agent."""
_MESSAGES = 3
"""Messages of each of these."""


@dataclass(frozen=True)
class Recorded:
    """The conversations that were recorded in a span of time."""

    since: datetime
    until: datetime

    def replay(self, api: httpx2.Client) -> str:
        """Begin a replay of them. Returns its id."""
        answer = api.post("/v1/replays", json={"since": self.since.isoformat(), "until": self.until.isoformat()})
        if answer.status_code != httpx2.codes.ACCEPTED:
            raise RuntimeError(f"the replay was refused: {answer.text[:600]}")
        return str(answer.json()["replay_id"])


def record(of: Stack, wanted: int) -> Recorded:
    """Record so many conversations of hotel and travel. The stack needs `SETTINGS`."""
    since, people = datetime.now(UTC), max(1, wanted // _ON_CHANNEL)
    for agent in AGENTS:
        _simulate(of, agent, people)
        progress(f"recorded {people} conversations of {agent} on a channel")
    golden = load_golden(sorted((settings().prompts_dir / "golden").glob("*.yaml")), AGENTS)
    chosen = list(islice(cycle(golden), wanted - people * len(AGENTS)))
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(partial(_hold, of), [chosen[first::_AT_ONCE] for first in range(_AT_ONCE)]))
    progress(f"recorded {len(chosen)} golden conversations")
    return Recorded(since, datetime.now(UTC))


def _hold(of: Stack, conversations: Iterable[Golden]) -> None:
    """Hold golden conversations. One whose answer is not the expected one ends there, and is recorded all the same."""
    with Api(of.url, of.dev_key) as api:
        for golden in conversations:
            hold(api, golden)


def _simulate(of: Stack, agent: str, people: int) -> None:
    """Let people write to a bot on Telegram, some of their messages twice, and answer them."""
    config = {"secret_token": "s", "bot_token": "1:b", "api_base": f"http://127.0.0.1:{free_port()}", "pace": 1000}
    whose = ("--tenant", "development", "--agent", agent, "--config", "-")
    turnloom(of, "channel", "set", "telegram", agent, *whose, given=json.dumps(config))
    messages = ("--users", str(people), "--messages", str(people * _MESSAGES), "--send-errors", "0", "--seed", "1")
    turnloom(of, "simulate", "telegram", "--account", agent, "--base-url", of.url, *messages)
