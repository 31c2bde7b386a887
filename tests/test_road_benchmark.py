"""Test the benchmark of whole turns: its clients, its language-model endpoint, its peers and its counters."""

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import psycopg
import pytest
from redis import Redis

from benchmarks import llm_endpoint
from benchmarks.crowd import Crowd, Wish
from benchmarks.peers.api import Engine, Tell, serve
from benchmarks.server_counters import ServerCounters
from benchmarks.turn_waits import by_stream
from tests.facts import wait_for
from turnloom.models.runtime.settings import Settings
from turnloom.planner.llm.openai import OpenAIModel, connect
from turnloom.planner.llm.protocol import PromptMessage
from turnloom.workers.embedded.servers import EmbeddedServers, free_port, is_free


class Echo:
    """An engine that echoes once all expected turns have come. Its first few turns lack a step."""

    def __init__(self, expected: int, lacking: int = 0) -> None:
        self.running = self.most = 0
        self._expected = expected
        self._lacking = lacking
        self._all_are_there = asyncio.Event()

    async def accept(self, turn_id: str, message: str) -> None:
        """Store nothing."""

    async def run(self, turn_id: str, message: str, tell: Tell) -> str:
        self.running += 1
        self.most = max(self.most, self.running)
        if self.running == self._expected:
            self._all_are_there.set()
        await self._all_are_there.wait()
        if self._lacking:
            self._lacking -= 1
        else:
            tell("step.finished", {})
        self.running -= 1
        return message.partition(" as ")[2]


@contextmanager
def peer(engine: Engine) -> Iterator[str]:
    """Run the API of a peer in front of an engine."""
    with in_a_loop() as loop:
        port = free_port()
        serving = asyncio.run_coroutine_threadsafe(serve(port, engine), loop)
        wait_for(lambda: not is_free(port))
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            serving.cancel()


@contextmanager
def in_a_loop() -> Iterator[asyncio.AbstractEventLoop]:
    """Run an event loop in a thread, and end what runs in it afterwards."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield loop
    finally:
        asyncio.run_coroutine_threadsafe(_all_done(), loop).result(8)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _all_done() -> None:
    mine = asyncio.current_task()
    while others := [task for task in asyncio.all_tasks() if task is not mine]:
        await asyncio.wait(others)
    await asyncio.sleep(0)


def test_a_crowd_has_as_many_turns_under_way_as_clients():
    """Every client has one turn at a time. Costs are per turn that ended in the window."""
    engine = Echo(4)
    readings = iter(range(2))
    with peer(engine) as url:
        window = Crowd([url], "", 4).measure(Wish("chat", 1, by_stream), 0.05, lambda: {"read": 12.0 * next(readings)})

    assert window.errors == []
    assert window.used == {"read": 12 / len(window.latencies_s)}
    assert len(window.latencies_s) >= 10
    assert engine.most == 4


def test_a_turn_without_its_steps_is_an_error():
    """A client checks that its steps have run. The other clients go on."""
    with peer(Echo(2, lacking=3)) as url:
        window = Crowd([url], "", 2).measure(Wish("chat", 1, by_stream), 0.05, dict)

    assert [error[:38] for error in window.errors] == ["Refused: succeeded with 0 of 1 steps: "] * 3
    assert len(window.latencies_s) >= 10


@pytest.fixture
def endpoint() -> Iterator[OpenAIModel]:
    """Run the endpoint without latency, and connect our adapter to it."""
    plans, port = {"chat": [], "one": [{"id": "a", "tool": "sim.wait"}]}, free_port()
    with in_a_loop() as loop:
        serving = asyncio.run_coroutine_threadsafe(llm_endpoint.serve(port, plans), loop)
        wait_for(lambda: not is_free(port))
        model = connect(Settings(openai_base_url=f"http://127.0.0.1:{port}/v1"))
        assert isinstance(model, OpenAIModel)
        yield model
        model.close()
        serving.cancel()


@pytest.mark.parametrize("plan", ["chat", "one"])
def test_the_endpoint_writes_the_plan_that_is_named(endpoint: OpenAIModel, plan: str):
    """The text is the same, streamed or not. Its tokens are counted."""
    messages: list[PromptMessage] = [{"role": "user", "content": f'"Please do {plan} as abc"'}]
    schema = {"type": "object", "properties": {"steps": {"type": "array"}}}
    pieces: list[str] = []

    streamed = endpoint.stream(messages, pieces.append, purpose="plan", schema=schema)
    whole = endpoint.generate(messages, purpose="plan", schema=schema)

    assert json.loads(streamed.text)["steps"] == ([] if plan == "chat" else [{"id": "a", "tool": "sim.wait"}])
    assert streamed.text == whole.text == "".join(pieces)
    assert streamed.usage.completion_tokens > 0
    assert streamed.finish_reason == "stop"


def test_the_endpoint_replies_to_the_turn(endpoint: OpenAIModel):
    """Without a plan the reply repeats a word of the message, so that a client recognises its own."""
    answer = endpoint.generate([{"role": "user", "content": "do one as qwerty"}], purpose="reply")

    assert answer.text == "Here is what came out of it, qwerty."


def test_the_peers_need_nothing_of_ours():
    """The code that all peers share imports no package of ours, because they run in their own environment."""
    code = "import sys; sys.path.insert(0, '.'); import benchmarks.peers.api, benchmarks.peers.llm, benchmarks.waves"

    subprocess.run([sys.executable, "-I", "-S", "-c", code], check=True)


def test_servers_count_what_a_turn_costs_them(servers: EmbeddedServers, database: str):
    """Commits that write, transactions that read and commands of Valkey are counted separately."""
    assert servers.postgres
    assert servers.redis
    of = SimpleNamespace(postgres=servers.postgres, redis_url=servers.redis_url)
    with (
        ServerCounters(of, database.rpartition("/")[2]) as counters,
        psycopg.connect(database, autocommit=True) as db,
        Redis.from_url(servers.redis_url) as redis,
    ):
        before = counters.read()
        db.execute("SELECT 1")
        db.execute("CREATE TEMPORARY TABLE counted (n int)")
        db.execute("SELECT pg_stat_force_next_flush()")
        redis.publish("counted", "x")
        after = counters.read()
    grown = {name: after[name] - before[name] for name in after}

    assert grown["commits"] >= 1
    assert grown["transactions"] >= 3
    assert grown["published"] >= 1
    assert grown["Redis commands"] >= 2
