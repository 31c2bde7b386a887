"""A mistake in the settings ends in one sentence that names the variable or file, without traceback or value."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from turnloom.models.runtime.settings import ROOT, Settings
from turnloom.tools.pack_settings import unknown_settings

Run = Callable[..., tuple[int, list[str]]]

PASSWORD = "geheim-9f3a"
NOBODY = f"postgresql://turnloom:{PASSWORD}@127.0.0.1:1/turnloom"


@pytest.fixture
def run(loaded_python: list[str]) -> Run:
    """Run `turnloom` with these variables; return its exit code and the lines on standard error."""

    def call(*arguments: str, **variables: str) -> tuple[int, list[str]]:
        command = [*loaded_python, "-m", "turnloom.workers.cli", *arguments]
        environment = {**os.environ, "DATABASE_URL": NOBODY, **variables}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=50)
        return done.returncode, done.stderr.strip().splitlines()

    return call


@pytest.mark.parametrize(
    ("arguments", "variables", "exit_code", "told"),
    [
        (["worker", "--queues", "plan"], {"TURNLOOM_DATABASE_POOL_SIZE": "many"}, 2, "TURNLOOM_DATABASE_POOL_SIZE: "),
        (["web"], {"TURNLOOM_DATABASE_POOL_SIZE": "1"}, 2, "TURNLOOM_DATABASE_POOL_SIZE is 1"),
        (["beat"], {"TURNLOOM_PLACEMENT": "heavy"}, 2, "TURNLOOM_PLACEMENT: "),
        (["up"], {"TURNLOOM_PACKS": "dates,travel"}, 2, "TURNLOOM_PACKS is not JSON"),
        (["tools", "list"], {"TURNLOOM_PACKS": "dates,travel"}, 2, 'a list is written as ["one", "two"]'),
        (["web"], {"TURNLOOM_PACKS": '["datez"]'}, 1, "there is no tool pack 'datez'"),
        (["worker", "--queues", "plan"], {"TURNLOOM_PACKS": '["datez"]'}, 1, "there is no tool pack 'datez'"),
        (["worker", "--queues", "tools.oi"], {}, 2, "there is no queue tools.oi; there are plan, tools.io"),
        (["worker", "--queues", "plan"], {"TURNLOOM_OFFLINE_MODEL": ""}, 2, "set OPENAI_API_KEY or OPENAI_BASE_URL"),
        (["worker", "--queues", "plan"], {"REDIS_URL": f"amqp://u:{PASSWORD}@h/"}, 2, "must be Redis or Valkey"),
        (["migrate"], {}, 1, "Connection refused"),
        (["migrate"], {"DATABASE_URL": NOBODY.replace("://", "+psycopg2://")}, 2, "DATABASE_URL: the URL must begin"),
        (["web"], {"TURNLOOM_DEFAULT_AGENT": "nobody"}, 1, "there is no agent 'nobody'"),
        (["up", "--data-dir", "/dev/null/data"], {}, 1, "cannot hold the stack's data"),
        (["beat"], {"TURNLOOM_PROMPTS_DIR": "nowhere", "TURNLOOM_PLAN_MAX_STEPS": "0"}, 2, "TURNLOOM_PLAN_MAX_STEPS: "),
        (["web"], {"TURNLOOM_TRAVEL_LATENCY_MS": "-1"}, 2, "TURNLOOM_TRAVEL_LATENCY_MS: "),
        (["worker", "--queues", "plan"], {"TURNLOOM_PROMPTS_DIR": "nowhere"}, 2, "TURNLOOM_PROMPTS_DIR"),
        (
            ["worker", "--queues", "plan"],
            {"TURNLOOM_FAULTS": "faults"},
            2,
            "TURNLOOM_FAULTS is set: it lets",
        ),
        (["web"], {"TURNLOOM_FAULTS": "faults"}, 2, "only `turnloom up --faults FILE` sets it"),
        (["up"], {"TURNLOOM_FAULTS": "faults"}, 2, "Unset it"),
    ],
)
def test_a_mistake_is_one_sentence(
    run: Run, arguments: list[str], variables: dict[str, str], exit_code: int, told: str
) -> None:
    """The sentence names the mistake, and does not repeat a password."""
    code, lines = run(*arguments, **variables)

    assert (code, len(lines)) == (exit_code, 1), lines
    assert lines[0].startswith("Error: ")
    assert told in lines[0]
    assert PASSWORD not in lines[0]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("faults: [{tool: sim.wait, delay: 5}]", "faults.0.delay: Extra inputs are not permitted"),
        (
            "restarts: [{process: worker-7, after_s: 1}]",
            "restarts.0.process: worker-7 is none of web, beat, ",
        ),
        ("duplicates: [{queue: tools.oi}]", "duplicates.0.queue: tools.oi is none of plan, tools.io"),
        ("faults: [{tool: café, delay_ms: 5}]", "is not UTF-8"),
        ("faults: [{tool: sim.wait, delay_ms: 5}]", "unset DATABASE_URL and REDIS_URL"),
    ],
    ids=["field", "process", "queue", "not UTF-8", "servers of others"],
)
def test_a_wrong_fault_file_starts_nothing(run: Run, tmp_path: Path, text: str, told: str) -> None:
    """The place in the file is named, before a server is started or the data directory made. It is wrong usage."""
    (tmp_path / "faults.yaml").write_text(text, "latin-1")
    given = ("up", "--faults", str(tmp_path / "faults.yaml"), "--data-dir", str(tmp_path / "data"))

    code, lines = run(*given, REDIS_URL="redis://127.0.0.1:1/0")

    assert code == 2, lines
    assert told in lines[-1]
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("mode: auto\n", "mode: automatic\n"), "mode: Input should be"),
        (("modes: [", "modes: [[["), "this is not YAML"),
        (("version: ", "versions: "), "version: Field required"),
    ],
    ids=["value", "syntax", "field"],
)
def test_a_broken_agent_is_named_with_its_line(run: Run, tmp_path: Path, change: tuple[str, str], told: str) -> None:
    """The process does not start, and the error names the file and the line."""
    shutil.copytree(ROOT / "prompts", tmp_path / "prompts")
    file = tmp_path / "prompts" / "agents" / "travel.yaml"
    text = file.read_text("utf-8")
    assert change[0] in text
    file.write_text(text.replace(*change, 1), "utf-8")

    code, lines = run("web", TURNLOOM_PROMPTS_DIR=str(tmp_path / "prompts"))

    assert (code, len(lines)) == (2, 1), lines
    assert told in lines[0]
    assert f"{file}, line " in lines[0] or "required" in told


def test_a_misspelt_variable_causes_a_warning(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The warning names the nearest known variable. Settings of packs that are switched off are known as well."""
    code, lines = run("tools", "list", TURNLOOM_TENANT_WINDOWS="3")
    for name in ("TURNLOOM_TENANT_WINDOWS", "TURNLOOM_WHATEVER", "TURNLOOM_SIM_LOG"):
        monkeypatch.setenv(name, "x")

    assert code == 0
    assert "did you mean TURNLOOM_TENANT_WINDOW?" in "".join(lines)
    named = [sentence.split()[4].rstrip(";") for sentence in unknown_settings()]
    assert named == ["TURNLOOM_TENANT_WINDOWS", "TURNLOOM_WHATEVER"]


def test_a_value_is_never_shown(run: Run) -> None:
    """A value that cannot be read as a setting may be a secret in the wrong place."""
    secret = dict.fromkeys(("TURNLOOM_SECRET_KEYS", "TURNLOOM_MINIHOTEL_CREDENTIALS"), PASSWORD)

    _, lines = run("tools", "list", **secret)

    assert PASSWORD not in "".join(lines)
    assert "TURNLOOM_" in "".join(lines)


def test_the_offline_model_is_off_unless_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The default suits production."""
    monkeypatch.delenv("TURNLOOM_OFFLINE_MODEL")

    assert Settings().offline_model is False
