"""Fault files are read strictly and strike the same calls each time."""

import pytest
from pydantic import ValidationError

from turnloom.models.contracts.fault_file import FaultFile, ToolFault, read_fault_file
from turnloom.models.contracts.replay_request import ReplayOptions
from turnloom.models.errors import Invalid

FILE = """
seed: 7
faults:
  - {tool: "pms.*", chance: 0.2, delay_ms: 3000}
  - {tool: sim.echo, nth: 2, error: {code: UPSTREAM_5XX, message: down}}
  - {tool: "*", malformed: true}
"""


def test_a_fault_file_is_read() -> None:
    """Faults match tools by patterns."""
    file = read_fault_file(FILE)

    assert [place for place, _ in file.matching("sim.echo")] == [1, 2]
    assert [place for place, _ in file.matching("pms.get_availability")] == [0, 2]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("faults: [{tool: a}]", "say what goes wrong"),
        ("faults: [{tool: a, chance: 0.1, nth: 2, delay_ms: 1}]", "`chance` or `nth`"),
        ("faults: [{tool: a, error: {code: OTHER}}]", "faults.0.error.code"),
        ("faults: [{tool: a, delay_ms: 1, color: red}]", "faults.0.color"),
        ("faults: []", "names nothing that goes wrong"),
        ("faults: [{tool: a, delay_ms: 1}]\nfault: []", "fault: Extra inputs"),
        ("duplicates: [{chance: 0.1}]", "duplicates.0: Value error, say what comes twice"),
        ("duplicates: [{queue: a, path: b}]", "either `queue` or `path`"),
        ("duplicates: [{path: /v1/turns, within_ms: 5}]", "`within_ms` goes with `queue`"),
        ("duplicates: [{queue: a, chance: 0.1, nth: 2}]", "`chance` or `nth`"),
        ("restarts: [{after_s: 1}]", "restarts.0: Value error, say who dies"),
        ("restarts: [{process: web}]", "`after_s` or `every_s`"),
        ("restarts: [{process: web, after_s: 1, every_s: [1, 2]}]", "one of them"),
        ("restarts: [{at: plan.recorded, after_s: 1}]", "only for a `process`"),
        ("restarts: [{process: web, every_s: [2, 1]}]", "[shortest, longest]"),
        ("restarts: [{process: web, every_s: [0, 0]}]", "above 0"),
        ("restarts: [{process: web, after_s: 1, nth: 2}]", "`nth` goes with `at`"),
        ("restarts: [{at: Plan Recorded}]", "restarts.0.at"),
        ("faults: [{tool: a", "not YAML"),
        ("just text", "file: "),
    ],
)
def test_a_wrong_file_is_refused(text: str, named: str) -> None:
    """The message names the field and the rule."""
    with pytest.raises(Invalid, match="fault file") as caught:
        read_fault_file(text)

    assert named in str(caught.value)


def test_chance_depends_on_the_seed_and_the_call_alone() -> None:
    """About the given share of calls is struck, and the same ones each time."""
    fault = ToolFault(tool="*", chance=0.2, delay_ms=1)
    calls = [f"c1/1|0|{number}" for number in range(1_000)]

    struck, again, other = ([call for call in calls if fault.strikes(call, 1, seed)] for seed in (7, 7, 8))

    assert struck == again != other
    assert 150 < len(struck) < 250


def test_the_nth_call() -> None:
    """Only the call of this number is struck."""
    fault = FaultFile.model_validate({"faults": [{"tool": "*", "nth": 2, "delay_ms": 1}]}).faults[0]

    assert [fault.strikes("x", number, 0) for number in (1, 2, 3)] == [False, True, False]


def test_crash_points_are_listed_in_order() -> None:
    """Each is a line of the file that TURNLOOM_CRASH_AT names."""
    file = read_fault_file("restarts: [{at: plan.recorded, nth: 3}, {process: web, after_s: 1}, {at: turn.claimed}]")

    assert file.crash_points == ["plan.recorded 3", "turn.claimed"]


def test_a_replay_needs_faults_of_calls() -> None:
    """It simulates nothing else; a file that has something else beside them will do."""
    restarts = {"restarts": [{"process": "web", "after_s": 1}]}

    with pytest.raises(ValidationError, match="has no `faults` of tool calls"):
        ReplayOptions.model_validate({"tools": "simulated", "faults": restarts})
    ReplayOptions.model_validate(
        {"tools": "simulated", "faults": {**restarts, "faults": [{"tool": "*", "delay_ms": 1}]}}
    )
