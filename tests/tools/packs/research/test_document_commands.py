"""Documents are managed on the command line."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from turnloom.models.runtime.settings import settings
from turnloom.workers.cli import main


def run(*arguments: str) -> Result:
    """Run `turnloom ARGUMENTS`."""
    return CliRunner().invoke(main, arguments)


def documents(tenant: str) -> list[str]:
    listed = run("documents", "list", "--tenant", tenant, "--json")
    return [row["id"] for row in json.loads(listed.stdout)]


@pytest.fixture
def acme(database: str) -> str:
    run("tenant", "create", "acme")
    return "acme"


def test_migrate_loads_documents_for_tenants_without_any(acme: str, tmp_path: Path) -> None:
    """A tenant without documents gets samples and our documentation. A tenant that loads its own sees only those."""
    (tmp_path / "a.md").write_text("# A\nText.")
    (tmp_path / "empty.txt").touch()
    assert run("migrate").exit_code == 0
    shipped = documents(acme)

    loaded, again = (run("documents", "load", str(tmp_path), "--tenant", acme, "--name", "mine") for _ in range(2))

    assert {"samples/timetable.md", "turnloom/README.md", "turnloom/docs/index.md"} <= set(shipped)
    assert loaded.stdout == "mine: 1 loaded, 0 the same, 0 removed for tenant acme\n"
    assert loaded.stderr == f"left out {tmp_path / 'empty.txt'}: the file contains no text\n"
    assert again.stdout == "mine: 0 loaded, 1 the same, 0 removed for tenant acme\n"
    assert documents(acme) == ["mine/a.md"]


def test_without_a_tenant_they_are_everyones(acme: str, tmp_path: Path) -> None:
    """The collection has its folder's name, unless another one is given."""
    folder = tmp_path / "handbook"
    folder.mkdir()
    (folder / "a.md").write_text("# A\nText.")

    loaded = run("documents", "load", str(folder))

    assert loaded.stdout == "handbook: 1 loaded, 0 the same, 0 removed for every tenant without its own\n"
    assert documents(acme) == ["handbook/a.md"]


def test_migrate_loads_none_if_the_pack_is_off(acme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tables of a deployment without the pack stay empty."""
    monkeypatch.setenv("TURNLOOM_PACKS", '["dates"]')
    settings.cache_clear()

    assert run("migrate").exit_code == 0
    assert documents(acme) == []


@pytest.mark.parametrize(
    ("options", "word"), [(["--tenant", "nobody"], "nobody"), (["--language", "klingon"], "klingon")]
)
def test_a_wrong_tenant_or_language_changes_nothing(acme: str, tmp_path: Path, options: list[str], word: str) -> None:
    """The exit code is 1, and the message names the fault."""
    (tmp_path / "a.md").write_text("Text.")

    refused = run("documents", "load", str(tmp_path), *options)

    assert refused.exit_code == 1
    assert word in refused.stderr
    assert documents(acme) == []
