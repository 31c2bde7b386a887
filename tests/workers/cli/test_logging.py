"""A command prints its answer and nothing else."""

import json

import click
import pytest
from click.testing import CliRunner

from turnloom.models.runtime.logging import log
from turnloom.models.runtime.settings import settings
from turnloom.workers.cli import COMMANDS, main


@click.command
def noisy() -> None:
    """Warn, and answer."""
    log.warning("thing.noticed", thing="x")
    click.echo('{"answer": 1}')


@pytest.mark.parametrize("time", ["once", "again"])
def test_warnings_go_beside_the_answer(time: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are on standard error as it is then, so that a program can read what comes from standard output."""
    monkeypatch.setitem(COMMANDS, "noisy", f"{__name__}:noisy")

    done = CliRunner().invoke(main, ["noisy"])

    assert json.loads(done.stdout) == {"answer": 1}
    assert "thing.noticed" in done.stderr


def test_wrong_settings_do_not_keep_the_doctor_from_telling(monkeypatch: pytest.MonkeyPatch) -> None:
    """Logging depends on settings too, and the doctor reports what is wrong with them."""
    monkeypatch.setitem(COMMANDS, "noisy", f"{__name__}:noisy")
    monkeypatch.setenv("TURNLOOM_LOG_LEVEL", "LOUD")
    settings.cache_clear()

    done = CliRunner().invoke(main, ["noisy"])

    monkeypatch.undo()
    settings.cache_clear()
    assert (done.exit_code, json.loads(done.stdout)) == (0, {"answer": 1})
