"""An operator imports, reads and checks tools with `turnloom mcp`."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from tests.tools.mcp.serving import OPEN, Program
from turnloom.models.errors import Invalid, NotFound
from turnloom.models.runtime.settings import settings
from turnloom.tools.enabled_tools import enabled_tools
from turnloom.tools.mcp.lockfile import load_pinned, path_of
from turnloom.workers.cli import main

LOOK = {"name": "look", "description": "Look.", "inputSchema": OPEN}


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """A server that answers."""
    return Program(tmp_path, "look", "a b")


@pytest.fixture
def file(program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of servers that the settings name."""
    path = tmp_path / "mcp.yaml"
    server = program.server.model_dump(exclude_defaults=True, mode="json")
    path.write_text(yaml.safe_dump({"mcpServers": {"bad": server}}))
    monkeypatch.setenv("TURNLOOM_MCP_SERVERS", str(path))
    settings.cache_clear()
    return path


def run(*args: str) -> Result:
    return CliRunner().invoke(main, ["mcp", *args])


def rows(*args: str) -> list[dict[str, Any]]:
    """Run a command and return what it prints, as data."""
    found: list[dict[str, Any]] = json.loads(run(*args, "--json").stdout)
    return found


def test_an_import_is_shown_and_saved(file: Path) -> None:
    """After the import the tools are available, whether the server is or not."""
    found = rows("import")

    assert [(row["tool"], row["effect"], row["approval"]) for row in found] == [
        ("look", "write", "needed"),
        ("a b", None, None),
    ]
    assert [row["verdict"].split(":")[0] for row in found] == ["new", "refused"]
    assert [raw["name"] for raw in load_pinned(file)["bad"]] == ["look"]
    assert "mcp.bad.look" in enabled_tools().tools
    assert rows("list")[0]["verdict"] == "imported"


def test_nothing_is_offered_before_it_is_imported(file: Path) -> None:
    """No process asks a server at its start."""
    assert [name for name in enabled_tools().tools if name.startswith("mcp.")] == []


def test_an_import_says_what_has_changed(file: Path, program: Program) -> None:
    """Each tool is marked as changed or as before."""
    program.offer([LOOK, {"name": "old", "inputSchema": OPEN}])
    run("import")
    program.offer([LOOK | {"description": "Look closer."}, {"name": "old", "inputSchema": OPEN}])

    found = rows("import")

    assert {row["tool"]: row["verdict"] for row in found} == {"look": "changed", "old": "as before"}


def test_the_list_shows_hidden_characters(file: Path, program: Program) -> None:
    """The imported list shows characters that a server hides in a description."""
    program.offer([LOOK | {"description": "Look\u200b\u202e."}])

    run("import")

    assert r"Look\u200b\u202e." in path_of(file).read_text()
    assert enabled_tools().get("mcp.bad.look").description == "Look."


def test_the_list_of_a_server_that_is_down_is_kept(file: Path, program: Program) -> None:
    """The command says that the server does not answer, and fails."""
    run("import")
    before = load_pinned(file)
    program.offered.unlink()

    result = run("import")

    assert (result.exit_code, load_pinned(file)) == (1, before)
    assert "bad: the MCP server bad" in result.stderr


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("mcpServers: {Bad Name: {url: 'https://x'}}", "cannot name a server"),
        ("mcpServers: {x: {}}", "either a `command` or a `url`"),
        ("mcpServers: {x: {url: 'file:///etc/passwd'}}", "must begin with https://"),
        ("mcpServers: {x: {url: 'https://x', colour: red}}", "mcpServers.x.colour"),
        ("mcpServers: {x: {url: 'https://x', per_user: often}}", "per_user"),
        ("[", "neither YAML nor JSON"),
        ("7", "dictionary"),
    ],
)
def test_a_file_that_is_wrong_stops_the_start_with_a_sentence(file: Path, text: str, words: str) -> None:
    """The sentence names the place in the file."""
    file.write_text(text)

    with pytest.raises(Invalid, match=words):
        enabled_tools()


def test_a_broken_list_stops_the_start_with_a_sentence(file: Path) -> None:
    """A broken list might contain a tool that nobody has read."""
    path_of(file).write_text('{"format": 1, "servers": {"bad": [')

    with pytest.raises(Invalid, match="turnloom mcp import"):
        enabled_tools()


def test_a_file_that_is_not_there_stops_the_start(file: Path) -> None:
    """A process does not start without the tools that the file names."""
    file.unlink()

    with pytest.raises(NotFound, match=r"mcp\.yaml cannot be read"):
        enabled_tools()


def test_a_list_of_functions_is_checked(tmp_path: Path) -> None:
    """Functions of any dialect are checked without a server."""
    file = tmp_path / "functions.jsonl"
    lines = [{"name": "f", "parameters": {"type": "dict", "properties": {"a": {"type": "float"}}}}, {"name": "g"}]
    file.write_text("\n".join(map(json.dumps, lines)))

    result = run("check", str(file))

    assert result.exit_code == 1
    assert "f\twrite\tneeded\tfit to import" in result.stdout
    assert "refused: the tool does not describe its arguments" in result.stdout
