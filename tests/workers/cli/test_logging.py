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
    """Log a warning, and print an answer."""
    log.warning("thing.noticed", thing="x")
    click.echo('{"answer": 1}')


@pytest.mark.parametrize("time", ["once", "again"])
def test_warnings_go_to_standard_error(time: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Warnings go to the present standard error, so that a program can read the answer from standard output."""
    monkeypatch.setitem(COMMANDS, "noisy", f"{__name__}:noisy")

    done = CliRunner().invoke(main, ["noisy"])

    assert json.loads(done.stdout) == {"answer": 1}
    assert "thing.noticed" in done.stderr


def test_the_doctor_runs_with_wrong_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Logging depends on settings as well, and the doctor reports what is wrong with them."""
    monkeypatch.setitem(COMMANDS, "noisy", f"{__name__}:noisy")
    monkeypatch.setenv("TURNLOOM_LOG_LEVEL", "LOUD")
    settings.cache_clear()

    done = CliRunner().invoke(main, ["noisy"])

    monkeypatch.undo()
    settings.cache_clear()
    assert (done.exit_code, json.loads(done.stdout)) == (0, {"answer": 1})
