"""A tenant's own limits are shown and set on the command line."""

import json

import pytest
from click.testing import CliRunner, Result

from tests.factories import make_tenant
from turnloom.models.runtime.settings import settings
from turnloom.workers.cli import main

pytestmark = pytest.mark.usefixtures("database")


def run(*arguments: str) -> Result:
    """Run `turnloom ARGUMENTS`."""
    return CliRunner().invoke(main, arguments)


def test_limits_are_set_changed_and_given_back() -> None:
    """Each is set alone. `default` gives the deployment's back, `none` lifts a rate."""
    make_tenant()

    run("tenant", "limits", "acme", "--window", "16", "--user-rate", "30/minute", "--backlog", "500")
    changed = run("tenant", "limits", "acme", "--window", "default", "--user-rate", "none", "--json")
    shown = run("tenant", "limits", "acme")

    told = json.loads(changed.stdout)
    assert told["own"] == ["backlog", "user_rate"]
    assert (told["limits"]["backlog"], told["limits"]["user_rate"]) == (500, None)
    assert told["limits"]["window"] == settings().tenant_window
    assert "backlog\t500\tTrue" in shown.stdout


@pytest.mark.parametrize(
    ("option", "value"), [("--backlog", "0"), ("--rate", "often"), ("--window", "-1"), ("--window", "none")]
)
def test_a_wrong_limit_is_wrong_usage(option: str, value: str) -> None:
    """The message names the option; exit code 2."""
    make_tenant()

    refused = run("tenant", "limits", "acme", option, value)

    assert refused.exit_code == 2
    assert option in refused.stderr


def test_an_unknown_tenant_is_named() -> None:
    """Exit code 1."""
    refused = run("tenant", "limits", "nobody")

    assert refused.exit_code == 1
    assert "nobody" in refused.stderr
