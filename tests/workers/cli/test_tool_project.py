"""`turnloom tools new` writes a project that works as it is."""

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.installing import declare, install
from turnloom.models.runtime.settings import settings
from turnloom.workers.cli import main

ROOT = Path(__file__).resolve().parents[3]
BROKEN = "the tool pack 'acme' (acme_pack of acme-tools) cannot be loaded: ZeroDivisionError"
needs_a_builder = pytest.mark.skipif(
    importlib.util.find_spec("setuptools") is None or importlib.util.find_spec("wheel") is None,
    reason="setuptools or wheel is not installed, and pip would fetch them",
)


def new(name: str, folder: Path) -> Result:
    return CliRunner().invoke(main, ["tools", "new", name, "--dir", str(folder)])


def run(*command: str, site: Path, packs: list[str] | None = None) -> "subprocess.CompletedProcess[str]":
    """Run Python as if this project and the packages in `site` were installed."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), str(ROOT)])}
    if packs:
        environment["TURNLOOM_PACKS"] = json.dumps(packs)
    return subprocess.run(
        [sys.executable, *command], env=environment, cwd=site.parent, capture_output=True, text=True, check=False
    )


def test_a_new_pack_is_installed_and_passes_its_test(tmp_path: Path) -> None:
    """The first tool can be called without any change. The project's test finds it as Turnloom does."""
    made = new("word_play", tmp_path)
    project, site = tmp_path / "turnloom-word-play", tmp_path / "site"
    install(project, site)

    tested = run("-m", "pytest", "-q", "-p", "no:cacheprovider", str(project), site=site)

    assert (made.exit_code, str(project) in made.output) == (0, True)
    assert (tested.returncode, "3 passed" in tested.stdout) == (0, True), tested.stdout


@needs_a_builder
def test_pip_installs_a_new_pack(tmp_path: Path) -> None:
    """The project's pyproject.toml builds."""
    new("words", tmp_path)
    site = tmp_path / "site"
    options = ("--quiet", "--no-deps", "--no-build-isolation", "--target", str(site))

    built = run("-m", "pip", "install", *options, str(tmp_path / "turnloom-words"), site=site)
    listed = run("-m", "turnloom.workers.cli", "tools", "list", "--json", site=site, packs=["words"])

    assert built.returncode == 0, built.stderr
    assert [row["name"] for row in json.loads(listed.stdout)] == ["words.count_words"]


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    """A second project of the same name is refused, and the first stays as it is."""
    new("words", tmp_path)
    (tmp_path / "turnloom-words" / "README.md").write_text("mine")

    again = new("words", tmp_path)

    assert (again.exit_code, "is there already" in again.output) == (1, True)
    assert (tmp_path / "turnloom-words" / "README.md").read_text() == "mine"


@pytest.mark.parametrize(
    "name", ["", "Words", "9lives", "two words", "a.b", "../up", "hotel", "json", "class", "x" * 41]
)
def test_a_wrong_name_of_a_pack_is_refused(name: str, tmp_path: Path) -> None:
    """The name becomes part of tools' and of a package's names, and must not hide an existing one."""
    refused = new(name, tmp_path)

    assert refused.exit_code == 2
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Install and enable a pack that cannot be imported. Yields the folder in which it is installed."""
    site = tmp_path / "site"
    (site / "acme_pack").mkdir(parents=True)
    (site / "acme_pack" / "__init__.py").write_text("1 / 0")
    declare(site, "acme-tools", {"turnloom.packs": {"acme": "acme_pack"}})
    monkeypatch.syspath_prepend(site)
    monkeypatch.setenv("TURNLOOM_PACKS", '["acme"]')
    settings.cache_clear()
    yield site
    settings.cache_clear()


@pytest.mark.parametrize("command", [["doctor"], ["up", "--ephemeral"], ["tools", "list"]], ids=lambda each: each[0])
def test_a_broken_pack_is_reported_before_anything_starts(command: list[str], broken: Path) -> None:
    """The message names the pack, the package that brings it, and the error."""
    done = CliRunner().invoke(main, command)

    assert (done.exit_code, BROKEN in done.output) == (1, True), done.output


def test_a_worker_does_not_start_without_its_tools(broken: Path) -> None:
    """Celery ignores errors of its start hooks, and then every plan with such a tool would fail on this worker."""
    done = run("-m", "turnloom.workers.cli", "worker", "--queues", "tools.io", site=broken, packs=["acme"])

    assert (done.returncode, BROKEN in done.stderr) == (1, True), done.stderr
