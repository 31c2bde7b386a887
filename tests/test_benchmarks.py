import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import psycopg
import pytest

import benchmarks
from benchmarks.__main__ import BENCHMARKS
from benchmarks.clients import Answer, Client
from benchmarks.cpu_times import _tree_s
from benchmarks.drivers.orders import Order, one_by_one
from benchmarks.figures import Spread, Table, at_least, at_most, percentile
from benchmarks.full_ledger import fill
from benchmarks.load import drive
from benchmarks.makespan import recorded_workflows, wall
from benchmarks.recorded_tables import record
from benchmarks.replay import Ended, Pair, drawn, same_reports
from benchmarks.shapes import Shape, chain, fan_out, mixed, n_shape, random_plan, trip
from benchmarks.waves import waves
from tests.factories import running_turn, step
from turnloom.planner.plan.limits import PlanLimits
from turnloom.planner.plan.validation import validate
from turnloom.tools.registry import load_registry
from turnloom.workers.embedded.servers import EmbeddedServers

SHAPES = {
    "N": n_shape(),
    "trip": trip(),
    "fan-out": fan_out(10, [200, 470]),
    "chain": chain(10, 100),
    "mixed": mixed(),
    "random": random_plan(1, 30, 400),
}


@contextmanager
def post_server(status: int, answer: bytes) -> Iterator[tuple[str, list[bytes]]]:
    """Run a server that gives every POST the same answer. Yield its URL and the list of received bodies."""
    got: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            got.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(status)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/turns", got
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_every_measured_plan_is_valid(shape: Shape):
    """Its waves hold each step once, and take no less than the critical path."""
    plan = validate(shape.plan, load_registry(["sim"]), PlanLimits(200, None, None))

    assert len(plan.steps) == len(shape.needs)
    assert sorted(step for wave in waves(shape.needs) for step in wave) == sorted(shape.needs)
    assert shape.waves_ms >= shape.critical_path_ms


def test_an_n_is_half_as_long_again_in_waves():
    """The N is the shape in which a barrier costs most for its size: 1.5 times the critical path."""
    shape = n_shape()

    assert (shape.critical_path_ms, shape.waves_ms) == (800, 1200)


def test_recorded_workflows_are_scaled_to_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The critical path takes four seconds, whatever the tasks took. A workflow that is too wide is left out."""
    steps = [{"id": "a", "needs": ["b"], "duration_s": 100.0}, {"id": "b", "needs": [], "duration_s": 300.0}]
    workflow = {"plan_id": "narrow", "cp_s": 400.0, "steps": steps, "stats": {"width": 1}}
    lines = [workflow, {**workflow, "plan_id": "wide", "stats": {"width": 100}}]
    (tmp_path / "workflows.jsonl").write_text("\n".join(map(json.dumps, lines)))
    monkeypatch.setenv("TURNLOOM_CASES", str(tmp_path))

    assert recorded_workflows() == {"narrow": Shape({"a": ["b"], "b": []}, {"a": 1000, "b": 3000})}


def shown_turn(*steps: tuple[str, int, int]) -> dict[str, object]:
    """Return a finished turn as the API shows it. Its plan was recorded after 50 ms. Steps count from its start."""
    began = datetime(2026, 1, 1, tzinfo=UTC)
    times = [(name, *(began + timedelta(milliseconds=ms) for ms in (start, end))) for name, start, end in steps]
    return {
        "created_at": began.isoformat(),
        "timings": {"queued_ms": 10.0, "planning_ms": 40.0, "responding_ms": 5.0, "total_ms": 1055.0},
        "steps": [{"id": name, "started_at": str(start), "finished_at": str(end)} for name, start, end in times],
    }


@pytest.mark.parametrize(
    ("starts_at", "whole", "steps"),
    [
        pytest.param(53, 1000, 947, id="after the record"),
        pytest.param(20, 1030, 980, id="while the plan was written"),
    ],
)
def test_a_makespan_leaves_out_the_wait_for_the_plan(starts_at: int, whole: float, steps: float):
    """A step that began before the record of its plan counts with its run time, not with its wait."""
    turn = shown_turn(("a", starts_at, starts_at + 500), ("b", 600, 1000))

    measured = wall(turn, Shape({"a": [], "b": ["a"]}, {"a": 500, "b": 400}))

    assert measured == pytest.approx((whole, steps))


def test_a_random_plan_is_the_same_each_time():
    """A seed gives one plan, so that two runs measure the same."""
    plans = [random_plan(3, 30, 400) for _ in range(2)]

    assert plans[0] == plans[1] != random_plan(4, 30, 400)


def test_the_load_generator_sends_every_body_once():
    """This holds for any number of connections. Each whole answer is one latency."""
    bodies = [json.dumps(number).encode() for number in range(50)]
    with post_server(202, b"x" * 70_000) as (url, got):
        load = drive(url, bodies, connections=4, expected=202)

    assert sorted(got) == sorted(bodies)
    assert len(load.latencies_s) == 50
    assert 0 < load.elapsed_s < sum(load.latencies_s)


def test_the_load_generator_counts_no_refusals():
    """Refused requests have no latency, so a benchmark can require that there are none."""
    with post_server(503, b"later") as (url, _):
        load = drive(url, [b"{}"] * 5, connections=2, expected=202)

    assert (len(load.refusals), load.latencies_s) == (5, [])
    with pytest.raises(RuntimeError, match=r"5 requests were refused, one of them with HTTP/1.1 503"):
        load.refuse_refusals()


def test_a_client_keeps_its_connection():
    """Requests follow each other over one connection, and each answer is read whole."""
    text = json.dumps({"turn": "x" * 70_000}).encode()

    async def ask_twice(url: str) -> list[Answer]:
        client = Client(url, "key")
        answers = [await client.post("/v1/turns", {"number": number}) for number in range(2)]
        client.close()
        return answers

    with post_server(202, text) as (url, got):
        answers = asyncio.run(ask_twice(url))

    assert [json.loads(body) for body in got] == [{"number": 0}, {"number": 1}]
    assert answers == [Answer(202, json.loads(text))] * 2


def test_a_table_shows_the_spread_of_its_rounds():
    """A cell shows the median. If rounds differ, it also shows the lowest and the highest value."""
    table = Table("a title", [{"what": "x", "ratio": Spread.of([1.5, 1.0, 3.0]), "n": Spread.of([1234.0])}])

    assert table.markdown() == ("### a title\n\n| what | ratio | n |\n| --- | --- | --- |\n| x | 1.5 (1-3) | 1,234 |\n")


def test_a_percentile_is_one_of_the_values():
    """It is never between two values, and never beyond the largest."""
    values = [float(number) for number in range(100, 0, -1)]

    assert (percentile(values, 0.5), percentile(values, 0.99), percentile([7.0], 0.99)) == (51.0, 100.0, 7.0)


def test_the_cpu_of_children_counts_as_their_parents():
    """Child processes are part of the cost. A process that has ended costs nothing more."""
    table = {1: (0, 1.0), 2: (1, 0.5), 3: (2, 0.25), 4: (0, 9.0)}

    assert (_tree_s(1, table), _tree_s(99, table)) == (1.75, 0.0)


def test_a_target_is_reached_by_the_median():
    """One odd round neither reaches a target nor misses it."""
    measured = Spread.of([0.5, 1.0, 9.0])

    reached = [row["reached"] for row in (at_most(1.0, "x", measured), at_least(1.1, "x", measured))]
    assert reached == ["yes", "**no**"]


def test_figures_are_recorded_in_their_place(tmp_path: Path):
    """A table replaces the previous one, and nothing else changes. Without a place it is refused."""
    page = tmp_path / "README.md"
    page.write_text("# Figures\n\n<!-- a -->\nold\n<!-- /a -->\n\n<!-- b -->\nkept\n<!-- /b -->\n")
    table = Table("t", [{"x": "1"}])

    record("a", table, page)

    new = table.markdown()
    assert page.read_text() == f"# Figures\n\n<!-- a -->\n{new}<!-- /a -->\n\n<!-- b -->\nkept\n<!-- /b -->\n"
    with pytest.raises(ValueError, match="no place for the table of c"):
        record("c", table, page)


def test_a_feeder_begins_a_turn_for_each_that_has_ended():
    """The ends of turns of an earlier order are ignored."""
    open_turns: list[str] = []
    most = 0

    def begin() -> str:
        nonlocal most
        open_turns.append(f"turn {len(open_turns)}")
        most = max(most, len(open_turns) - ended_count)
        return open_turns[-1]

    ended_count = 0

    def ended() -> Iterator[str]:
        nonlocal ended_count
        yield "another's"
        while True:
            ended_count += 1
            yield open_turns[ended_count - 1]

    latencies_s = one_by_one(Order({}, 10, 3), begin, ended())

    assert (len(open_turns), most, len(latencies_s)) == (10, 3, 10)


def test_a_filled_ledger_holds_copies_of_a_turn(servers: EmbeddedServers, database: str):
    """Each copy is a turn of its own conversation, with the original's plan, steps and events."""
    turn = running_turn(step("a"), step("b", "a"))
    assert servers.postgres
    superuser_url = f"{servers.postgres.url.rpartition('/')[0]}/{database.rpartition('/')[2]}"
    with psycopg.connect(superuser_url, autocommit=True) as db:
        db.execute("UPDATE turns SET status = 'succeeded', finished_at = now() WHERE id = %s", (turn.id,))

        fill(superuser_url, 5)

        stored = db.execute(
            "SELECT turns.id, (SELECT count(*) FROM steps WHERE turn_id = turns.id),"
            " (SELECT array_agg(type ORDER BY seq) FROM turn_events WHERE turn_id = turns.id)"
            " FROM turns JOIN conversations ON conversations.id = conversation_id"
        ).fetchall()
    assert len({turn_id for turn_id, *_ in stored}) == len(stored) == 5
    assert len({(steps, tuple(events)) for _, steps, events in stored}) == 1
    assert stored[0][1] == 2


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_benchmark_has_a_place_for_its_figures(name: str):
    """Without a place, the figures of an hour of measuring would be lost."""
    page = Path(benchmarks.__file__).with_name("README.md").read_text()

    assert f"<!-- {name} -->\n" in page
    assert f"<!-- /{name} -->\n" in page


def test_a_ratio_of_live_turns_comes_with_its_interval():
    """It is that of all turns. Slices that agree make it narrow, and those that do not make it wide."""
    steady = [Pair(beside=[0.3] * 40, alone=[0.2] * 40)] * 6
    mixed = [Pair(beside=[0.1 + 0.1 * number] * 40, alone=[0.2] * 40) for number in range(6)]

    narrow, wide = drawn(steady, 0.95), drawn(mixed, 0.95)

    assert narrow == Spread.of([pytest.approx(1.5)])
    assert wide.low < wide.median == pytest.approx(3.0)


def test_reports_are_the_same_to_the_byte():
    """A page that differs counts as much as a figure that does."""
    ended = [
        Ended({"turns": 1}, b"page"),
        Ended({"turns": 1}, b"page"),
        Ended({"turns": 1}, b"pagE"),
        Ended({}, b"page"),
    ]

    assert same_reports(ended) == 2
