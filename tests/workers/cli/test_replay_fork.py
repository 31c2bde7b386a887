"""`turnloom replay fork`: its files, what it prints, and its exit codes."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from click.testing import CliRunner, Result

from tests.factories import claim_turn, make_tenant, open_turn, record_plan, step
from tests.models.ledger.remembering import answered, found
from tests.planner.llm.scripted import Script, says
from tests.workers.replay.working import scripted_parts
from turnloom.models.connections.database import statement
from turnloom.workers.cli import main


@pytest.fixture
def tenant_id(database: str, redis_url: str) -> UUID:
    return make_tenant()


@pytest.fixture
def script(tenant_id: UUID, monkeypatch: pytest.MonkeyPatch) -> Iterator[Script]:
    with scripted_parts(monkeypatch) as serving:
        yield serving


@pytest.fixture
def turn_id(tenant_id: UUID, script: Script) -> UUID:
    """A turn of the ledger: `b` is called with what `a` has returned."""
    turn = claim_turn(open_turn(tenant_id).turn_id)
    assert turn is not None
    first = step("a", args={"ms": 1, "payload": "a"})
    record_plan(turn, first, step("b", args={"ms": 1, "payload": {"$from": "a.payload"}}))
    for name in ("a", "b"):
        found(turn, name, {"ms": 1, "payload": "a"}, call=None)
    answered(turn)
    return turn.id


def invoke(turn_id: UUID, *arguments: object) -> Result:
    return CliRunner().invoke(main, ["replay", "fork", str(turn_id), *map(str, arguments)])


def written(folder: Path, name: str, value: Any) -> Path:
    path = folder / name
    path.write_text(json.dumps(value), "utf-8")
    return path


def rows() -> Any:
    """Return how many rows there are of what a turn or a replay writes."""
    counts = ", ".join(f"(SELECT count(*) FROM {name})" for name in ("turns", "plans", "steps", "llm_calls", "replays"))
    with statement() as db:
        return db.execute(f"SELECT {counts}").fetchone()


def test_a_turn_of_the_ledger_is_run_again(turn_id: UUID, script: Script, tmp_path: Path) -> None:
    """With a result of ours the rest goes another way. The ledger stays as it was."""
    script.behaviours = [says("Another reply.")]
    before = rows()

    made = invoke(turn_id, "--from", "a", "--result", f"a={written(tmp_path, 'a.json', {'ms': 1, 'payload': 'ours'})}")

    assert made.exit_code == 0, made.output
    assert "turn 1 of c1: different" in made.stdout
    assert "arguments\tsim.wait: payload is 'ours', was 'a'" in made.stdout.replace('"', "'")
    assert made.stdout.endswith("\nreply\nAnother reply.\n")
    assert rows() == before


def test_the_recorded_plan_gives_the_same_turn(turn_id: UUID, script: Script) -> None:
    """As JSON it is the replayed turn. Only the reply is asked for."""
    script.behaviours = [says("Another reply.")]

    made = json.loads(invoke(turn_id, "--from", "b", "--json").stdout)

    assert (made["outcome"], made["differences"]) == ("same", [])
    assert [each["recorded"] for each in made["replayed"]["steps"]] == ["a", "b"]
    assert len(script.requests) == 1


def test_another_model_plans_again(turn_id: UUID, script: Script) -> None:
    """A result that no call took is told."""
    script.behaviours = [says('{"steps": [], "reply": "No tool is needed."}')]

    again = CliRunner().invoke(
        main,
        ["replay", "fork", str(turn_id), "--from", "b", "--model", "other", "--result", "b=-"],
        input='{"ms": 1, "payload": 7}',
    )

    assert again.exit_code == 0, again.output
    assert "the result for step 'b' was not used" in again.stderr
    assert "No tool is needed." in again.stdout
    assert script.requests[0]["model"] == "other"


def test_a_plan_is_refused_with_every_fault(turn_id: UUID, tmp_path: Path) -> None:
    """Each is on a line, with its place."""
    steps = [{"id": "a", "tool": "sim.echo", "args": {"value": 1}, "needs": ["x"]}, {"id": "b", "tool": "no.tool"}]

    refused = invoke(turn_id, "--from", "a", "--plan", written(tmp_path, "plan.json", {"steps": steps}))

    assert refused.exit_code == 1
    assert "a.needs: step 'a' needs 'x'" in refused.stderr
    assert "b.tool: step 'b' calls 'no.tool'" in refused.stderr


def test_a_new_call_diverges_and_is_named(turn_id: UUID, tmp_path: Path) -> None:
    """There is no result for it."""
    plan = {"steps": [{"id": "e", "tool": "sim.echo", "args": {"value": 1}}]}

    made = invoke(turn_id, "--from", "a", "--plan", written(tmp_path, "plan.json", plan))

    assert made.exit_code == 0, made.output
    assert "diverged: there is no recorded result for sim.echo (step 'e')" in made.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--from", "x"], 1, "there is no step 'x'; the steps are: a, b"),
        (["--from", "a", "--result", "a"], 2, "write STEP=FILE"),
        (["--from", "a", "--plan", __file__], 2, "is not JSON"),
        (["--from", "a", "--tools", "simulated"], 2, "`faults`"),
        ([], 2, "--from"),
    ],
)
def test_wrong_usage(turn_id: UUID, arguments: list[str], code: int, said: str) -> None:
    """It says what is wrong."""
    wrong = invoke(turn_id, *arguments)

    assert wrong.exit_code == code
    assert said in " ".join(wrong.output.split())


def test_a_turn_must_be_there_and_have_ended(tenant_id: UUID, turn_id: UUID) -> None:
    """Also one of another tenant is not there."""
    waits = open_turn(tenant_id, "wait", conversation_id="c2").turn_id
    assert waits is not None
    make_tenant("other")

    said = [
        invoke(uuid4(), "--tenant", "acme", "--from", "a"),
        invoke(turn_id, "--tenant", "other", "--from", "a"),
        invoke(waits, "--tenant", "acme", "--from", "a"),
    ]

    assert [each.exit_code for each in said] == [1, 1, 1]
    assert ["no turn of that id" in each.output for each in said] == [True, True, False]
    assert "has not ended, it is queued" in said[2].output
