"""Write docs/reference/ from the code. With `--check`: write nothing, and exit 1 naming the pages that are stale."""

import json
import pkgutil
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "docs")]

import click
from harvest import raised
from pydantic import AliasChoices
from pydantic.fields import FieldInfo

import tools
from models.contracts.envelope import ERROR_CODES
from models.contracts.event import EVENTS
from models.contracts.plan import PLAN_FAULTS
from models.errors import TurnloomError
from models.settings import Settings
from planner.agents import Agents, load_agents
from tools.registry import Registry, load_registry
from web.app import create_app
from web.errors import HTTP_CODES
from workers.cli import main as turnloom

REFERENCE = ROOT / "docs" / "reference"
MADE = "<!-- Made by `make docs` from the code; edit there. -->"


def main() -> None:
    """Write the pages, or compare them."""
    made = pages()
    stale = [name for name, text in made.items() if not _is_current(REFERENCE / name, text)]
    left_over = sorted({path.name for path in REFERENCE.glob("*.md")} - set(made))
    if "--check" in sys.argv:
        wrong = stale + left_over
        sys.exit(f"out of date in docs/reference/: {', '.join(wrong)}; run `make docs`" if wrong else 0)
    REFERENCE.mkdir(exist_ok=True)
    for name in stale:
        (REFERENCE / name).write_text(made[name], "utf-8")
    for name in left_over:
        (REFERENCE / name).unlink()


def pages() -> dict[str, str]:
    """Return every page by its file's name. Nothing in the environment changes them."""
    registry = load_registry(module.name for module in pkgutil.iter_modules(tools.__path__) if module.ispkg)
    app = create_app()
    scopes = {endpoint: getattr(view, "scope", None) for endpoint, view in app.view_functions.items()}
    scope_of = {(rule.rule, verb.lower()): scopes[rule.endpoint] for rule in app.url_map.iter_rules() for verb in rule.methods or ()}
    return {
        "settings.md": settings_page(),
        "tools.md": tools_page(registry),
        "agents.md": agents_page(load_agents(ROOT / "prompts" / "agents"), registry),
        "http.md": http_page(app.spec, scope_of),
        "events.md": events_page(),
        "errors.md": errors_page(),
        "commands.md": commands_page(),
    }


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
    parts, shapes = [], {}
    for tool in registry.tools.values():
        facts = [f"effect: {tool.effect}", f"deadline: {tool.timeout_s:g} s", f"queue: `{tool.queue}`"]
        facts += ["inline"] if tool.inline else []
        facts += ["formatter"] if tool.formatter else []
        parts.append(f"## `{tool.name}`\n\n{tool.description}\n\n{' · '.join(facts)}")
        for title, schema in (("argument", tool.input_schema), ("result", tool.output_schema)):
            parts += _fields(schema, title)
            shapes.update(schema.get("$defs", {}))
    return _page("Tools", "What a plan may call. The pack `sim` is for load tests, drills and documents.", [*parts, *_shapes(shapes)])


def agents_page(agents: Agents, registry: Registry) -> str:
    """Describe every agent that is shipped."""
    parts = []
    for agent in agents.profiles.values():
        allowed = ", ".join(f"`{name}`" for name in registry.allowed(agent.tools).tools)
        rows = [
            ("version", str(agent.version)),
            ("modes", ", ".join(f"`{mode}`" for mode in agent.modes) + f"; `{agent.mode}` where a turn names none"),
            ("may call", f"{', '.join(f'`{pattern}`' for pattern in agent.tools)}: {allowed}"),
            ("steps on the longest path", str(agent.max_depth or "no bound")),
            ("steps that need one step directly", str(agent.max_fan_out or "no bound")),
            ("reply without a template of its own", f"written by: {agent.responder}; style: `{agent.style}`"),
        ]
        parts.append(f"## `{agent.name}`\n\n{agent.description}\n\n{_table(('', ''), rows)}")
    lead = "An agent is a file under `prompts/agents/`. Tools of packs that are not enabled are not offered to it."
    return _page("Agents", lead, parts)


def http_page(spec: Mapping[str, Any], scope_of: Mapping[tuple[str, str], str | None]) -> str:
    """Describe every route and every shape, from the OpenAPI document."""
    parts = []
    for path, verb, operation in sorted(
        (path, verb, operation) for path, verbs in spec["paths"].items() for verb, operation in verbs.items()
    ):
        route = re.sub(r"{(\w+)}", r"<\1>", path).replace("<conversation_id>", "<path:conversation_id>")
        scope = scope_of.get((route, verb))
        parts.append(f"## {verb.upper()} `{path}`\n\n{operation['summary']} {operation.get('description', '')}".strip())
        parts.append(f"Needs the scope `{scope}`." if scope else "Needs no key.")
        parts += _parameters(operation)
        rows = [(code, answer["description"], _shape(answer)) for code, answer in operation["responses"].items()]
        parts.append(_table(("status", "when", "body"), rows))
    parts += _shapes(spec["components"]["schemas"])
    lead = "The same as an OpenAPI 3.1 document: `/openapi.json`; to read and try: `/docs`."
    return _page("HTTP", lead, parts)


def events_page() -> str:
    """Describe the events of a turn."""
    lead = "What `GET /v1/turns/{turn_id}/events` tells, as server-sent events. `data` always has `turn_id` and `at`, but for deltas."
    return _page("Events", lead, [_table(("event", "when, and what `data` holds"), [(f"`{k}`", v) for k, v in EVENTS.items()])])


def errors_page() -> str:
    """Describe every error code, and where it is seen."""
    kinds = {error.__name__: error for error in _subclasses(TurnloomError)}
    classes = [
        (f"`{error.code}`", str(error.status), (error.__doc__ or "").split("\n\n")[0].replace("\n", " "))
        for error in kinds.values() if error.code.islower() and not hasattr(error, "needs")
    ]
    http = [(f"`{code}`", str(status), HTTPStatus(status).phrase) for status, code in HTTP_CODES.items() if status != HTTPStatus.NOT_FOUND]
    found = [each for each in raised() if each.code.islower()]
    exact = [(f"`{each.code}`", str(kinds[each.kind].status), each.sentence) for each in found if each.kind in kinds]
    return _page("Errors", "Every code is stable; the sentence beside it is for people and may change.", [
        "## Of a request\n\nAs `application/problem+json`, in `code`.",
        _table(("code", "HTTP status", "meaning"), classes + http),
        "More exact ones, with what they say (`…` differs from case to case):",
        _table(("code", "HTTP status", "sentence"), exact),
        "## Of a field\n\nIn `errors[].code` of a problem: these, and pydantic's own names, such as `missing`, `extra_forbidden` "
        "or `string_too_long`.",
        _table(("code", "sentence"), [(f"`{each.code}`", each.sentence) for each in found if each.kind == "fault"]),
        "## Of a plan\n\nIn `errors[].code` of a problem with the code `invalid_plan`, each with the step's id.",
        _table(("code", "meaning"), [(f"`{code}`", meaning) for code, meaning in PLAN_FAULTS.items()]),
        "## Of a step\n\nIn `steps[].error.code` of a turn, and in the event `step.finished`.",
        _table(("code", "meaning"), [(f"`{code}`", meaning) for code, meaning in ERROR_CODES.items()]),
        "## Of a turn\n\nIn `error.code` of a failed turn: these, or that of the language model's or the database's failure above.",
        _table(("code", "sentence"), [(f"`{each.code}`", each.sentence) for each in found if not each.kind]),
    ])


def commands_page() -> str:
    """Give the help text of every command."""
    helps = [f"## `{path}`\n\n```text\n{text}\n```" for path, text in _helps(turnloom, "turnloom", None)]
    return _page("Commands", "Exit codes: 0 done, 1 the work failed, 2 wrong usage.", helps)


def _parameters(operation: Mapping[str, Any]) -> Iterator[str]:
    rows = [
        (f"`{each['name']}`", each["in"], _type(each["schema"]), each["schema"].get("description", ""))
        for each in operation["parameters"]
    ]
    if rows:
        yield _table(("parameter", "in", "type", "meaning"), rows)
    if "requestBody" in operation:
        yield f"Body: {_shape(operation['requestBody'])}."


def _shape(answer: Mapping[str, Any]) -> str:
    """Name what a body holds."""
    schemas = [content["schema"] for content in answer.get("content", {}).values()]
    kinds = [media_type for media_type in answer.get("content", {}) if media_type.startswith("text/")]
    return ", ".join(f"`{kind}`" for kind in kinds) or " or ".join(_type(schema) for schema in schemas if schema)


def _shapes(schemas: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for name, schema in sorted(schemas.items()):
        yield f"### {name}\n\n{schema.get('description', '')}".strip()
        yield from _fields(schema, "field")


def _fields(schema: Mapping[str, Any], title: str) -> Iterator[str]:
    required = schema.get("required", ())
    rows = [
        (f"`{name}`", _type(field), "required" if name in required else _literal(field.get("default")), field.get("description", ""))
        for name, field in schema.get("properties", {}).items()
    ]
    if rows:
        yield _table((title, "type", "default", "meaning"), rows)


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
        name = str(schema["$ref"]).rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "enum" in schema or "const" in schema:
        return " or ".join(f"`{value}`" for value in schema.get("enum", [schema.get("const")]))
    if choices := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(_type(choice) for choice in choices if choice.get("type") != "null")
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return str(schema.get("format") or schema.get("type") or "any")


def _default(field: FieldInfo) -> str:
    value = field.get_default()
    return _literal(f"{value.relative_to(ROOT)}/" if isinstance(value, Path) else value)


def _literal(value: Any) -> str:
    """Write a default; nothing for None, which stands for absence."""
    if value is None:
        return ""
    return f"`{value}`" if isinstance(value, str) else f"`{json.dumps(value)}`"


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
