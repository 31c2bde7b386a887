"""`turnloom replay`: its files, its progress, its report and its exit codes."""

import json
from pathlib import Path
from uuid import UUID

import pytest
from click.testing import CliRunner, Result

from tests.factories import make_tenant
from tests.workers.replay.working import work_off
from turnloom.models.connections.redis import redis
from turnloom.workers.broker.app import app as celery
from turnloom.workers.cli import main


@pytest.fixture(autouse=True)
def tenant_id(database: str, redis_url: str) -> UUID:
    celery.conf.update(broker_url=redis_url, broker_write_url=redis_url)
    return make_tenant()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file of two conversations; the second one calls a tool that an agent of ours does not have."""
    calls = [{"name": "their_tool", "args": {}, "result": "x"}]
    turns = [[{"user": "Hello"}], [{"user": "Hello", "tool_calls": calls}]]
    path = tmp_path / "conversations.jsonl"
    lines = (json.dumps({"conversation_id": f"c{number}", "turns": each}) for number, each in enumerate(turns, 1))
    path.write_text("\n".join(lines), "utf-8")
    return path


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["replay", *map(str, arguments)])


def ended(*options: object) -> str:
    """Make a replay and work on it. Return its id."""
    made = invoke("run", *options, "--detach", "--json")
    assert made.exit_code == 0, made.output
    replay_id = str(json.loads(made.stdout)["replay_id"])
    work_off(replay_id)
    return replay_id


def test_the_share_of_different_turns_makes_the_exit_code(file: Path) -> None:
    """One of two turns differs: half of them may, or fewer."""
    kept, broken = (ended("--file", file, "--max-different", share) for share in ("50%", "49.9%"))

    assert [invoke("report", each).exit_code for each in (kept, broken)] == [0, 1]
    assert invoke("report", ended("--file", file)).exit_code == 0


def test_the_report_is_shown_in_three_forms(file: Path, tmp_path: Path) -> None:
    """As tables, as JSON, and as a page. Two replays have the same JSON, byte for byte."""
    first, second = (ended("--file", file) for _ in range(2))

    shown = invoke("report", first).stdout
    written = [invoke("report", each, "--json").stdout for each in (first, second)]
    page = tmp_path / "report.html"
    invoke("report", first, "--html", page)

    assert "2 turns of 2 conversations" in shown
    assert json.loads(written[0])["outcomes"] == {"same": 1, "different": 1, "diverged": 0, "failed": 0}
    assert written[0] == written[1]
    assert page.read_text("utf-8").startswith("<!DOCTYPE html>")


def test_a_replay_is_followed_and_cancelled(file: Path) -> None:
    """One that runs has no report yet."""
    made = json.loads(invoke("run", "--file", file, "--detach", "--json").stdout)
    early = invoke("report", made["replay_id"])
    cancelled = invoke("cancel", made["replay_id"])

    assert (early.exit_code, "still runs: 0 of 2" in early.output) == (1, True)
    assert "is cancelled: 0 of 2 conversations" in cancelled.stdout
    assert invoke("list").stdout.splitlines()[1].split("\t")[1] == "cancelled"
    assert json.loads(invoke("show", made["replay_id"], "--json").stdout)["status"] == "cancelled"


def test_imported_conversations_are_replayed_by_time(file: Path) -> None:
    """They are as old as their times say."""
    imported = invoke("import", file)

    assert "kept 2 conversations with 2 turns" in imported.stdout
    assert json.loads(invoke("report", ended("--since", "2025-01-01"), "--json").stdout)["turns"] == 2
    assert invoke("run", "--since", "2025-01-02").exit_code == 1


def test_a_bad_file_is_refused_with_its_lines(tmp_path: Path) -> None:
    """Nothing of it is kept."""
    path = tmp_path / "bad.jsonl"
    path.write_text('{"conversation_id": "c1", "turns": [{"user": "hi"}]}\n{"turns": 7}\n', "utf-8")

    refused = invoke("import", path)

    assert refused.exit_code == 1
    assert "line 2, conversation_id: Field required" in refused.output
    assert "line 2, turns" in refused.output
    assert invoke("run", "--since", "2025-01-01").exit_code == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "either --since or --file"),
        (["--since", "yesterday"], "not a time"),
        (["--since", "2026-01-01", "--max-different", "5"], "write 5%"),
        (["--since", "2026-01-01", "--tools", "simulated"], "`faults`"),
    ],
)
def test_wrong_usage(arguments: list[str], said: str) -> None:
    """It ends with 2 and says what to write."""
    wrong = invoke("run", *arguments)

    assert wrong.exit_code == 2
    assert said in " ".join(wrong.output.split())


@pytest.mark.parametrize(("text", "said"), [("faults: [{tool: café}]", "not UTF-8"), ("faults: 5", "faults: ")])
@pytest.mark.parametrize("command", [["run", "--since", "2026-01-01"], ["fork", str(UUID(int=1)), "--from", "a"]])
def test_a_fault_file_that_cannot_be_read_is_wrong_usage(
    tmp_path: Path, command: list[str], text: str, said: str
) -> None:
    """It ends with 2, and says why, before anything is looked for."""
    (tmp_path / "faults.yaml").write_text(text, "latin-1")

    wrong = invoke(*command, "--tools", "simulated", "--faults", tmp_path / "faults.yaml")

    assert (wrong.exit_code, said in " ".join(wrong.output.split())) == (2, True), wrong.output


def test_changed_prompts_are_told(file: Path, tmp_path: Path) -> None:
    """Of a folder like prompts/ only the texts that differ count. One that cannot be used is refused."""
    folder = tmp_path / "prompts"
    (folder / "agents").mkdir(parents=True)
    (folder / "agents" / "generic.yaml").write_text("description: another one\n", "utf-8")
    made = json.loads(invoke("run", "--file", file, "--prompts", folder, "--detach", "--json").stdout)
    (folder / "agents" / "generic.yaml").write_text("mode: [wrong", "utf-8")

    refused = invoke("run", "--file", file, "--prompts", folder)

    assert made["prompts"] == ["agents/generic"]
    assert (refused.exit_code, "agents/generic" in refused.output) == (1, True)
    assert redis().llen("replay") == 2
