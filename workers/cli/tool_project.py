"""Write an installable project for a new tool pack: `turnloom tools new`."""

import keyword
import re
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import click
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from turnloom.models.errors import Conflict
from turnloom.tools.pack_index import shipped_packs

_TEMPLATES = Path(__file__).with_name("plug_in")
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")


def _checked(_context: click.Context, _parameter: click.Parameter, name: str) -> str:
    if not _NAME.fullmatch(name):
        raise click.BadParameter("a pack's name has 1-40 characters of a-z, 0-9 and _, and begins with a letter")
    taken = {pack.name for pack in shipped_packs()} | sys.stdlib_module_names
    if name in taken or keyword.iskeyword(name):
        raise click.BadParameter(f"{name!r} is taken")
    return name


@click.command("new")
@click.argument("name", callback=_checked)
@click.option(
    "--dir",
    "folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=".",
    show_default=True,
    help="Folder to create the project in.",
)
def new_pack(name: str, folder: Path) -> None:
    """Write a project for the tool pack NAME: one tool, a test that passes, and a pyproject.toml to install it."""
    project = f"turnloom-{name.replace('_', '-')}"
    home = folder / project
    if home.exists():
        raise Conflict(f"{home} is there already")
    names = {"name": name, "project": project, "package": f"turnloom_{name}", "version": _our_version()}
    for path, text in _rendered(names).items():
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_text(text, "utf-8")
    click.echo(f"{home}: `pip install -e '{home}[test]'`, then `pytest {home}`; its README.md says how to switch it on")


def _rendered(names: dict[str, str]) -> dict[Path, str]:
    """Return the project's files by their path in the project."""
    # The files are source code, not HTML.
    templates = Environment(loader=FileSystemLoader(_TEMPLATES), undefined=StrictUndefined, keep_trailing_newline=True)  # noqa: S701
    paths = [Path(name) for name in templates.list_templates(extensions=["j2"])]
    return {_renamed(path, names["package"]): templates.get_template(path.as_posix()).render(names) for path in paths}


def _renamed(path: Path, package: str) -> Path:
    parts = [package if part == "package" else part for part in path.with_suffix("").parts]
    return Path(*parts)


def _our_version() -> str:
    try:
        return version("turnloom")
    except PackageNotFoundError:  # this runs from a checkout that is not installed
        return "0.1.0"
