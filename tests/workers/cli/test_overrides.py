"""`turnloom prompts` and `turnloom agents` manage a tenant's own texts."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from turnloom.models.runtime.settings import ROOT, settings
from turnloom.workers.cli import main

SHIPPED = (ROOT / "prompts" / "styles" / "brief.j2").read_text("utf-8")
OWN = SHIPPED.replace("Be as short", "Be twice as short")


def run(*arguments: str, text: str | None = None) -> Result:
    """Run `turnloom ARGUMENTS`, with a text on standard input."""
    return CliRunner().invoke(main, arguments, input=text)


@pytest.fixture
def acme(database: str) -> str:
    run("tenant", "create", "acme")
    return "acme"


def source(tenant: str) -> str:
    rows = json.loads(run("prompts", "list", "--tenant", tenant, "--json").stdout)
    return next(f"{row['origin']} {row['source']}" for row in rows if row["name"] == "styles/brief")


def test_set_show_and_remove(acme: str) -> None:
    """A tenant's text is shown and listed as the tenant's. After its removal the shipped one is."""
    was = source(acme)
    made = json.loads(run("prompts", "set", "styles/brief", "-", "--tenant", acme, "--json", text=OWN).stdout)
    seen = [run("prompts", "show", "styles/brief", *tenant).stdout for tenant in ((), ("--tenant", acme))]
    has = source(acme)

    removed = run("prompts", "remove", "styles/brief", "--tenant", acme)

    assert seen == [SHIPPED, OWN]
    assert (was, has) == (f"shipped {was.split()[1]}", f"ledger {made['source']}")
    assert (removed.exit_code, source(acme)) == (0, was)


def test_diff_shows_the_difference(acme: str) -> None:
    """The difference from the shipped text is shown line by line. Without a difference nothing is shown."""
    before = run("prompts", "diff", "styles/brief", "--tenant", acme).stdout
    run("prompts", "set", "styles/brief", "-", "--tenant", acme, text=OWN)

    after = run("prompts", "diff", "styles/brief", "--tenant", acme).stdout

    assert before == ""
    assert [line for line in after.splitlines() if line.startswith("+Be")] == [f"+{OWN.splitlines()[5]}"]


def test_history_has_every_text(acme: str) -> None:
    """Every earlier text of a tenant can be printed and set again."""
    for text in (OWN, SHIPPED.replace("Be as", "Be thrice as")):
        run("prompts", "set", "styles/brief", "-", "--tenant", acme, "--by", "ada", text=text)

    history = json.loads(run("prompts", "history", "styles/brief", "--tenant", acme, "--json").stdout)
    first = run("prompts", "show", "styles/brief", "--tenant", acme, "--version", "1").stdout

    assert [(row["version"], row["change"], row["created_by"]) for row in history] == [
        (n, "set", "ada") for n in (2, 1)
    ]
    assert first == OWN


def test_agent_of_a_tenant(acme: str, tmp_path: Path) -> None:
    """A tenant may set some of an agent's fields, and the agent's source says so."""
    file = tmp_path / "travel.yaml"
    file.write_text("persona: You are a butler.\n", "utf-8")

    made = json.loads(run("agents", "set", "travel", str(file), "--tenant", acme, "--json").stdout)

    shown = [json.loads(run("agents", "show", "travel", *of).stdout) for of in ((), ("--tenant", acme))]
    listed = json.loads(run("agents", "list", "--tenant", acme, "--json").stdout)
    assert [profile["persona"] == "You are a butler." for profile in shown] == [False, True]
    assert made["source"] in [row["source"] for row in listed]
    assert run("agents", "remove", "travel", "--tenant", acme).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "text", "why"),
    [
        (("prompts", "set", "styles/brief", "-"), "no front matter", "front matter"),
        (("prompts", "set", "styles/brief", "-"), OWN + "{{ nothing }}", "declare its inputs"),
        (("agents", "set", "travel", "-"), "max_parallel: 0", "max_parallel"),
        (("prompts", "remove", "styles/brief"), None, "has no text"),
        (("prompts", "show", "styles/nothing"), None, "there is no prompt"),
        (("prompts", "show", "styles/brief", "--version", "7"), None, "version 7"),
    ],
)
def test_a_wrong_text_is_refused(acme: str, arguments: tuple[str, ...], text: str | None, why: str) -> None:
    """The exit code is 1 with a one-sentence error, and nothing changes."""
    before = source(acme)

    refused = run(*arguments, "--tenant", acme, text=text)

    assert (refused.exit_code, source(acme)) == (1, before)
    assert why in refused.stderr


def test_version_is_a_tenants(database: str) -> None:
    """A version without a tenant is wrong usage."""
    assert run("prompts", "show", "styles/brief", "--version", "1").exit_code == 2


def test_list_names_refused_files(database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that cannot be used is listed with the reason, beside the text that is used instead."""
    (tmp_path / "acme" / "agents").mkdir(parents=True)
    for name in ("travel", "new"):
        (tmp_path / "acme" / "agents" / f"{name}.yaml").write_text("surprise: 1", "utf-8")
    monkeypatch.setenv("TURNLOOM_TENANT_PROMPTS_DIR", str(tmp_path))
    settings.cache_clear()
    run("tenant", "create", "acme")

    rows = {row["name"]: row for row in json.loads(run("prompts", "list", "--tenant", "acme", "--json").stdout)}

    assert "surprise" in rows["agents/travel"]["refused"]
    assert (rows["agents/travel"]["origin"], rows["agents/new"]["source"]) == ("shipped", None)
    assert rows["agents/travel"]["source"].startswith("agents/travel@")
