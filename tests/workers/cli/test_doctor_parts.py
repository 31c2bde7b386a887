"""The doctor finds faults in the parts of a process, and missing processes."""

import json
import shutil

import pytest

from tests.models.ledger.explaining import beat
from tests.planner.llm.scripted import fails, says, scripted_server
from tests.workers.cli.test_doctor import examine
from turnloom.models.connections.redis import note_beat
from turnloom.models.runtime.settings import settings
from turnloom.workers.broker.queues import QUEUES
from turnloom.workers.cli.doctor import CHECKS


@pytest.mark.parametrize(
    ("variable", "value", "check"),
    [
        ("TURNLOOM_TENANT_WINDOWS", "3", "names of settings"),
        ("TURNLOOM_LINK_SECRET", "", "link secret"),
        ("TURNLOOM_PACKS", '["dates"]', "tools of agents"),
    ],
)
def test_possible_mistakes_are_warnings(monkeypatch, variable, value, check):
    """An unknown variable, a missing secret and an agent with missing tools are warnings that name a remedy."""
    monkeypatch.setenv(variable, value)
    settings.cache_clear()

    _, findings = examine()

    monkeypatch.undo()
    settings.cache_clear()
    assert findings[check]["status"] == "warning"
    assert findings[check]["mend"]


def test_a_broken_agent_is_found_and_survived(database, tmp_path, monkeypatch):
    """The file and the line are named, and all other checks run."""
    shutil.copytree(settings().prompts_dir, tmp_path / "prompts")
    file = tmp_path / "prompts" / "agents" / "travel.yaml"
    file.write_text(file.read_text("utf-8").replace("mode: auto\n", "mode: automatic\n", 1), "utf-8")
    monkeypatch.setenv("TURNLOOM_PROMPTS_DIR", str(tmp_path / "prompts"))
    settings.cache_clear()

    exit_code, findings = examine()

    assert exit_code == 1
    assert findings["agents"]["status"] == "failed"
    assert f"{file}, line " in findings["agents"]["detail"]
    assert len(findings) == len(CHECKS)


def test_missing_processes_are_found(database):
    """Queues without a living worker are named, and so is beat. With all processes alive, both checks pass."""
    _, before = examine()
    beat(*QUEUES)
    note_beat(60)
    _, after = examine()

    assert [before[name]["status"] for name in ("workers", "beat")] == ["warning", "warning"]
    assert "plan, tools.io" in before["workers"]["detail"]
    assert [after[name]["status"] for name in ("workers", "beat")] == ["ok", "ok"]


@pytest.mark.parametrize("status", [401, 404])
def test_a_model_that_refuses_is_found(monkeypatch, status):
    """An endpoint that refuses the key or the model does so only at a call."""
    with scripted_server() as script:
        script.behaviours = [fails(status, "no: geheim-9f3a"), says("ok")]
        monkeypatch.setenv("OPENAI_BASE_URL", script.url)
        monkeypatch.setenv("OPENAI_API_KEY", "geheim-9f3a")
        settings.cache_clear()

        refused, answered = (examine()[1]["language model"] for _ in range(2))

    monkeypatch.undo()
    settings.cache_clear()
    assert (refused["status"], answered["status"]) == ("failed", "ok")
    assert "gpt-4o" in refused["detail"]
    assert "geheim-9f3a" not in json.dumps([refused, answered])
