import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, get_args

import pytest

from turnloom.models.contracts.envelope import Envelope, ErrorCode
from turnloom.models.runtime.settings import settings
from turnloom.tools.context import ToolContext
from turnloom.tools.registry import load_registry

Call = Callable[..., Envelope]
MakeContext = Callable[..., ToolContext]


@pytest.fixture
def sim_log_file(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "sim.log"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TURNLOOM_SIM_LOG", str(path))
        settings.cache_clear()
        yield path
    settings.cache_clear()


def marks(path: Path) -> list[str]:
    return [line.split()[0] for line in path.read_text().splitlines()]


@pytest.mark.parametrize("payload", [None, 0, "text", [1, {"a": None}], {"deep": [1.5, True]}], ids=str)
def test_wait_hands_its_payload_back(payload: Any, call: Call) -> None:
    """Any JSON passes through unchanged."""
    envelope = call("sim.wait", {"ms": 1, "payload": payload})

    assert envelope.data == {"ms": 1, "payload": payload}


def test_wait_takes_its_time(call: Call) -> None:
    """The call lasts at least as long as asked."""
    started = time.monotonic()

    envelope = call("sim.wait", {"ms": 60})

    assert envelope.ok
    assert time.monotonic() - started >= 0.06


def test_wait_ends_at_its_deadline(call: Call) -> None:
    """A wait that does not fit fails when its time is up, like a slow provider."""
    started = time.monotonic()

    envelope = call("sim.wait", {"ms": 60_000}, time_s=0.05)

    assert envelope.error
    assert envelope.error.code == "TOOL_TIMEOUT"
    assert 0.03 < time.monotonic() - started < 20


@pytest.mark.parametrize("value", [None, "x", {"a": [1, 2]}], ids=str)
def test_echo_returns_its_value(value: Any, call: Call) -> None:
    """The result is the value that was given."""
    assert call("sim.echo", {"value": value}).data == {"value": value}


def test_burn_uses_the_cpu(call: Call) -> None:
    """The time passes on the CPU, not in a sleep."""
    started = time.thread_time()

    envelope = call("sim.burn", {"ms": 40})

    assert envelope.data == {"ms": 40}
    assert time.thread_time() - started >= 0.04


def test_burn_ends_at_its_deadline(call: Call) -> None:
    """Even a busy call looks at the clock."""
    envelope = call("sim.burn", {"ms": 60_000}, time_s=0.05)

    assert envelope.error
    assert envelope.error.code == "TOOL_TIMEOUT"


@pytest.mark.parametrize("code", get_args(ErrorCode))
def test_fail_fails_as_told(code: str, call: Call) -> None:
    """The tool can raise every code of the closed list."""
    envelope = call("sim.fail", {"code": code})

    assert envelope.error
    assert envelope.error.code == code


@pytest.mark.parametrize(
    ("name", "args", "fault"),
    [
        ("sim.wait", {}, "ms"),
        ("sim.wait", {"ms": -1}, "ms"),
        ("sim.wait", {"ms": 600_001}, "ms"),
        ("sim.wait", {"ms": "soon"}, "ms"),
        ("sim.wait", {"ms": 1, "extra": 1}, "extra"),
        ("sim.echo", {}, "value"),
        ("sim.burn", {"ms": 600_001}, "ms"),
        ("sim.fail", {"code": "OOPS"}, "code"),
        ("sim.fail", {}, "code"),
        ("sim.flaky", {}, "fail_times"),
        ("sim.flaky", {"fail_times": -1}, "fail_times"),
        ("sim.flaky", {"fail_times": 1, "ms": -1}, "ms"),
        ("sim.flaky", {"fail_times": 1, "retry_after_s": -1}, "retry_after_s"),
        ("sim.approve", {}, "value"),
        ("sim.write", {}, "value"),
        ("sim.write", {"value": 1, "ms": 600_001}, "ms"),
    ],
)
def test_bad_arguments_are_named(name: str, args: dict[str, Any], fault: str, call: Call) -> None:
    """Every invalid field is BAD_ARGS and named."""
    envelope = call(name, args)

    assert envelope.error
    assert envelope.error.code == "BAD_ARGS"
    assert f"{fault}:" in envelope.error.message


def test_flaky_succeeds_in_the_end(call: Call, database: str) -> None:
    """Two failures and a success fit into one call with its two retries."""
    assert call("sim.flaky", {"fail_times": 2}).data == {"calls": 3}


def test_flaky_counts_over_attempts(call: Call, database: str) -> None:
    """The count belongs to the step. A later attempt continues where the first one stopped."""
    first = call("sim.flaky", {"fail_times": 4}, attempt=1)

    second = call("sim.flaky", {"fail_times": 4}, attempt=2)

    assert first.error
    assert first.error.code == "UPSTREAM_5XX"
    assert second.data == {"calls": 5}


def test_flaky_counts_each_step_apart(call: Call, database: str) -> None:
    """Another step of the same turn starts from zero."""
    call("sim.flaky", {"fail_times": 0})

    other = call("sim.flaky", {"fail_times": 0}, step_id="s2")

    assert other.data == {"calls": 1}


@pytest.mark.parametrize("value", [None, 7, {"a": ["x"]}], ids=str)
def test_write_happens_once_for_a_key(value: Any, call: Call, sim_log_file: Path, database: str) -> None:
    """The second call with the key finds the first one's value, and logs no effect."""
    first = call("sim.write", {"value": value}, idempotency_key="k1")
    second = call("sim.write", {"value": "another"}, idempotency_key="k1", attempt=2)

    assert first.data == {"value": value, "key": "k1", "first": True}
    assert second.data == {"value": value, "key": "k1", "first": False}
    assert marks(sim_log_file) == ["S", "E", "S"]


def test_the_same_key_of_another_tenant_is_another_key(call: Call, database: str, make_context: MakeContext) -> None:
    """Tenants do not see each other's keys."""
    call("sim.write", {"value": 1}, idempotency_key="k1")

    other = call("sim.write", {"value": 2}, idempotency_key="k1", tenant_id=make_context().turn_id)

    assert other.data == {"value": 2, "key": "k1", "first": True}


def test_one_of_many_writers_has_the_effect(call: Call, sim_log_file: Path, database: str) -> None:
    """Racing calls with one key have one effect."""
    with ThreadPoolExecutor(8) as pool:
        envelopes = list(pool.map(lambda n: call("sim.write", {"value": n, "ms": 5}, idempotency_key="k1"), range(8)))

    assert sum(envelope.data["first"] for envelope in envelopes) == 1
    assert len({envelope.data["value"] for envelope in envelopes}) == 1
    assert marks(sim_log_file).count("E") == 1


def test_a_write_that_times_out_has_no_effect(call: Call, sim_log_file: Path, database: str) -> None:
    """The wait comes before the write."""
    late = call("sim.write", {"value": 1, "ms": 60_000}, idempotency_key="k1", time_s=0.05)
    again = call("sim.write", {"value": 1}, idempotency_key="k1", attempt=2)

    assert late.error
    assert again.data["first"]
    assert marks(sim_log_file) == ["S", "S", "E"]


def test_the_log_names_turn_step_attempt_and_time(call: Call, sim_log_file: Path, make_context: MakeContext) -> None:
    """A line is `S|E turn_id step_id attempt epoch_seconds`."""
    before = time.time()

    call("sim.echo", {"value": 1}, step_id="a-b_1", attempt=3)

    for line, mark in zip(sim_log_file.read_text().splitlines(), "SE", strict=True):
        fields = line.split(" ")
        assert fields[:4] == [mark, str(make_context().turn_id), "a-b_1", "3"]
        assert before - 0.001 <= float(fields[4]) <= time.time() + 0.001


def test_a_failing_call_logs_its_start_only(call: Call, sim_log_file: Path) -> None:
    """A failed call has no effect."""
    call("sim.fail", {"code": "NOT_FOUND"})
    call("sim.wait", {"ms": 1000}, time_s=0.01)

    assert marks(sim_log_file) == ["S", "S"]


def test_lines_of_many_writers_stay_whole(call: Call, sim_log_file: Path) -> None:
    """Each line is one write."""
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: call("sim.echo", {"value": n}, step_id="s" * 60), range(100)))

    lines = sim_log_file.read_text().splitlines()
    assert len(lines) == 200
    assert all(len(line.split(" ")) == 5 for line in lines)


def test_the_pack_declares_effects_and_places() -> None:
    """Planner and executor see which tools may run again, which are quick and which burn CPU."""
    sim = load_registry(["sim"]).tools

    assert {name for name, tool in sim.items() if tool.effect != "read"} == {"sim.approve", "sim.write"}
    assert {name for name, tool in sim.items() if tool.inline} == {"sim.echo"}
    assert {name for name, tool in sim.items() if tool.isolation == "process"} == {"sim.burn"}
