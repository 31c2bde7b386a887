"""A simulated provider is answered by the whole service, and says so."""

import json
import os
import subprocess
import sys

import pytest

from tests.conftest import ALLOWED_HOST
from tests.workers.channels.accounts import CONFIGS
from turnloom.workers.embedded.servers import free_port
from turnloom.workers.embedded.stack import Stack

pytestmark = pytest.mark.timeout(120)  # the first test may also have to start the stack


def _turnloom(stack: Stack, *command: str, given: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "turnloom.workers.cli", *command],
        input=given,
        env={**os.environ, **stack.environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_message_is_answered_once_and_in_order(stack: Stack) -> None:
    """Repeated, swapped and batched posts change nothing."""
    config = {**CONFIGS["whatsapp"], "api_base": f"http://{ALLOWED_HOST}:{free_port()}", "pace": 1000}
    name = ("--tenant", "development", "--agent", "generic", "--config", "-")
    _turnloom(stack, "channel", "set", "whatsapp", "simulated", *name, given=json.dumps(config)).check_returncode()

    options = ("--users", "4", "--messages", "8", "--duplicates", "0.5", "--disorder", "0.5", "--send-errors", "0")
    whom = ("whatsapp", "--account", "simulated", "--base-url", stack.url, "--seed", "3", "--json")
    done = _turnloom(stack, "simulate", *whom, *options)

    counts = json.loads(done.stdout or "{}")
    assert done.returncode == 0, done.stderr + done.stdout
    assert (counts["sent"], counts["accepted"], counts["answered_once"]) == (8, 8, 8)
    assert counts["repeated"] > 0
    assert config["api_base"] in done.stderr


def test_edits_and_closed_windows_change_nothing(stack: Stack) -> None:
    """Edited messages are answered once, and where the window is closed the account's template is sent."""
    config = {**CONFIGS["whatsapp"], "api_base": f"http://{ALLOWED_HOST}:{free_port()}", "pace": 1000}
    name = ("--tenant", "development", "--agent", "generic", "--config", "-")
    given = json.dumps({**config, "template": "call_us"})
    _turnloom(stack, "channel", "set", "whatsapp", "edited", *name, given=given).check_returncode()

    options = ("--users", "4", "--messages", "8", "--send-errors", "0", "--edits", "0.6", "--closed-windows", "0.4")
    whom = ("whatsapp", "--account", "edited", "--base-url", stack.url, "--seed", "4", "--json")
    done = _turnloom(stack, "simulate", *whom, *options)

    counts = json.loads(done.stdout or "{}")
    assert done.returncode == 0, done.stderr + done.stdout
    assert (counts["sent"], counts["answered_once"]) == (8, 8)
    assert 0 < counts["edited"] <= 8
    assert 0 < counts["templates"] <= counts["closed_windows"]


def test_a_closed_window_needs_a_template(stack: Stack) -> None:
    """And a channel that has windows."""
    for channel, config, said in (
        ("whatsapp", CONFIGS["whatsapp"], "template"),
        ("telegram", CONFIGS["telegram"], "no window"),
    ):
        name = ("--tenant", "development", "--agent", "generic", "--config", "-")
        _turnloom(stack, "channel", "set", channel, "bare", *name, given=json.dumps(config)).check_returncode()
        done = _turnloom(stack, "simulate", channel, "--account", "bare", "--closed-windows", "0.1")

        assert done.returncode == 2
        assert said in done.stderr


def test_an_account_must_exist(stack: Stack) -> None:
    """Without the account there is nothing to sign with."""
    done = _turnloom(stack, "simulate", "slack", "--account", "nobody")

    assert done.returncode == 1
    assert "turnloom channel set" in done.stderr
