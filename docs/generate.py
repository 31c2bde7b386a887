"""Write docs/reference/ from the code: settings, tools, command line, errors. With --check: only say what is stale."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from pydantic import AliasChoices
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from models.errors import TurnloomError
from models.settings import ROOT, Settings
from tools.registry import Registry, load_registry
from workers.cli import main as turnloom

REFERENCE = Path(__file__).parent / "reference"
PACKS = ["dates", "sim", "travel"]
MADE = "<!-- Made by `make docs` from the code; edit there. -->"


def main() -> None:
    """Write the pages, or compare them; exit code 1 where `--check` finds a difference."""
    pages = {
        "settings.md": settings_page(),
        "tools.md": tools_page(load_registry(PACKS)),
        "command-line.md": command_line_page(),
        "errors.md": errors_page(),
    }
    stale = [name for name, text in pages.items() if not _is_current(REFERENCE / name, text)]
    if "--check" in sys.argv:
        sys.exit(f"docs/reference/ is stale: {', '.join(stale)}; run `make docs`" if stale else 0)
    REFERENCE.mkdir(exist_ok=True)
    for name in stale:
        (REFERENCE / name).write_text(pages[name])


def settings_page() -> str:
    """Describe every environment variable."""
    schemas = Settings.model_json_schema(by_alias=False)["properties"]
    rows = [
        (f"`{_variable(name, field)}`", _type(schemas[name]), _default(field), field.description or "")
        for name, field in Settings.model_fields.items()
    ]
    return _page("Settings", "Environment variables; all have a default that suits a laptop.", [
        _table(("variable", "type", "default", "meaning"), rows)
    ])


def tools_page(registry: Registry) -> str:
    """Describe every tool that is shipped, with its arguments and its result."""
    parts = []
    for tool in registry.tools.values():
        facts = [f"effect: {tool.effect}", f"deadline: {tool.timeout_s:g} s", f"queue: `{tool.queue}`"]
        facts += ["inline"] if tool.inline else []
        facts += ["formatter"] if tool.formatter else []
        parts.append(f"## `{tool.name}`\n\n{tool.description}\n\n{' · '.join(facts)}")
        for title, model in (("argument", tool.input), ("result", tool.output)):
            schemas = model.model_json_schema(by_alias=False).get("properties", {})
            rows = [
                (f"`{name}`", _type(schemas[name]), _default(field), field.description or "")
                for name, field in model.model_fields.items()
            ]
            parts.append(_table((title, "type", "default", "meaning"), rows))
    return _page("Tools", "What a plan may call.", parts)


def command_line_page() -> str:
    """Give the help text of every command."""
    helps = [f"## `{path}`\n\n```text\n{text}\n```" for path, text in _helps(turnloom, "turnloom", None)]
    return _page("Command line", "Exit codes: 0 done, 1 the work failed, 2 wrong usage.", helps)


def errors_page() -> str:
    """Describe our errors: what the class says happens next."""
    rows = [
        (f"`{error.code}`", str(error.status), error.title, (error.__doc__ or "").split("\n\n")[0].replace("\n", " "))
        for error in _subclasses(TurnloomError)
    ]
    return _page("Errors", "As `application/problem+json`; an error may carry a more exact code of its own.", [
        _table(("code", "HTTP status", "title", "meaning"), rows)
    ])


def _is_current(path: Path, text: str) -> bool:
    return path.exists() and path.read_text() == text


def _page(title: str, lead: str, parts: list[str]) -> str:
    return "\n\n".join([f"# {title}", MADE, lead, *parts]) + "\n"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    cells = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(_escaped, row))} |" for row in cells)


def _escaped(cell: str) -> str:
    return " ".join(cell.split()).replace("|", "\\|")


def _variable(name: str, field: FieldInfo) -> str:
    if isinstance(field.validation_alias, AliasChoices):
        return str(field.validation_alias.choices[-1])
    return f"{Settings.model_config['env_prefix']}{name}".upper()


def _type(schema: Mapping[str, Any]) -> str:
    """Write a JSON schema's type in a few words."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "enum" in schema or "const" in schema:
        return " or ".join(f"`{value}`" for value in schema.get("enum", [schema.get("const")]))
    if "anyOf" in schema:
        return " or ".join(_type(choice) for choice in schema["anyOf"] if choice.get("type") != "null")
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return str(schema.get("format") or schema.get("type") or "any")


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if value is None or value is PydanticUndefined:
        return ""
    if isinstance(value, Path) and value.is_relative_to(ROOT):
        return f"`{value.relative_to(ROOT)}/`"
    return f"`{value}`"


def _helps(command: click.Command, path: str, parent: click.Context | None) -> Iterator[tuple[str, str]]:
    context = click.Context(command, info_name=path.rsplit(" ", 1)[-1], parent=parent, terminal_width=100)
    yield path, command.get_help(context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner and not inner.hidden:
                yield from _helps(inner, f"{path} {name}", context)


def _subclasses(kind: type[TurnloomError]) -> Iterator[type[TurnloomError]]:
    yield kind
    for inner in kind.__subclasses__():
        yield from _subclasses(inner)


if __name__ == "__main__":
    main()
