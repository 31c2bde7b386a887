"""Write docs/reference/ from the code. With `--check`: write nothing, and exit 1 naming the pages that are stale."""

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any

import click
import metrics_table
from error_codes import raised
from pydantic.fields import FieldInfo
from tool_declarations import declared

from turnloom.models.contracts.envelope import ERROR_CODES
from turnloom.models.contracts.event import EVENTS
from turnloom.models.contracts.plan import PLAN_FAULTS
from turnloom.models.errors import NeedsInput, TurnloomError
from turnloom.models.runtime.environment_settings import EnvironmentSettings
from turnloom.models.runtime.setting_faults import variable_of
from turnloom.models.runtime.settings import Settings
from turnloom.planner.agents import AgentProfile, Agents, load_agents
from turnloom.tools.pack_index import shipped_packs
from turnloom.tools.pack_settings import settings_classes
from turnloom.tools.registry import Registry, load_registry
from turnloom.web.app import create_app
from turnloom.web.errors import HTTP_CODES
from turnloom.workers.cli import main as turnloom

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = ROOT / "docs" / "reference"
_ANYWHERE = ("401", "403", "500", "503")
_BOUNDS = ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "minLength", "maxLength")
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
    """Return every page by its file's name. Nothing in the environment changes them but plug-ins' commands."""
    registry = load_registry(pack.name for pack in shipped_packs())
    app = create_app()
    scopes = {
        (re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", rule.rule), verb.lower()): getattr(
            app.view_functions[rule.endpoint], "scope", None
        )
        for rule in app.url_map.iter_rules()
        for verb in rule.methods or ()
    }
    return {
        "settings.md": settings_page(),
        "tools.md": tools_page(registry),
        "agents.md": agents_page(load_agents(ROOT / "prompts" / "agents"), registry),
        "http.md": http_page(app.spec, scopes),
        "events.md": events_page(),
        "errors.md": errors_page(),
        "commands.md": commands_page(),
        "metrics.md": _page("Metrics", metrics_table.LEAD, [_table(metrics_table.COLUMNS, metrics_table.rows())]),
    }


def settings_page() -> str:
    """Describe every environment variable."""
    parts = [_settings_table(Settings)]
    for name, kind in settings_classes(shipped_packs()).items():
        parts += [f"## Of the pack `{name}`", _settings_table(kind)]
    return _page("Settings", "Environment variables; all have a default that suits a laptop.", parts)


def _settings_table(kind: type[EnvironmentSettings]) -> str:
    schemas = kind.model_json_schema(by_alias=False)["properties"]
    rows = [
        (f"`{variable_of(name, field)}`", _type(schemas[name]), _default(field), schemas[name].get("description", ""))
        for name, field in kind.model_fields.items()
    ]
    return _table(("variable", "type", "default", "meaning"), rows)


def tools_page(registry: Registry) -> str:
    """Describe every tool that is shipped, with its arguments and its result."""
    parts, shapes = [], {}
    for tool in registry.tools.values():
        parts.append(f"## `{tool.name}`\n\n{tool.description}\n\n{declared(tool)}")
        for title, schema in (("argument", tool.input_schema), ("result", tool.output_schema)):
            parts += _fields(schema, title)
            shapes.update(schema.get("$defs", {}))
    lead = "What a plan may call. The pack `sim` is for load tests, drills and documents."
    return _page("Tools", lead, [*parts, *_shapes(shapes)])


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
            ("steps under way at a time", str(agent.max_parallel or "no bound")),
            ("reply without a template of its own", f"written by: {agent.responder}; style: `{agent.style}`"),
            ("slots", ", ".join(f"`{name}` ({slot.type})" for name, slot in agent.slots.items()) or "none"),
            ("templates a plan may ask for", ", ".join(f"`{hint}`" for hint in agent.hints) or "none"),
            ("figures without a source", "never" if agent.grounding == "strict" else "only in answers without results"),
        ]
        parts.append(f"## `{agent.name}`\n\n{agent.description}\n\n{_table(('', ''), rows)}")
    profile = AgentProfile.model_json_schema()
    parts += ["## Fields of a profile", *_fields(profile, "field"), *_shapes(profile["$defs"])]
    lead = "An agent is a file under `prompts/agents/`. Tools of packs that are not enabled are not offered to it."
    return _page("Agents", lead, parts)


def http_page(spec: Any, scopes: Mapping[tuple[str, str], str | None]) -> str:
    """Describe every route and every shape, from the OpenAPI document."""
    parts = []
    routes = [(path, verb, route) for path, verbs in spec["paths"].items() for verb, route in verbs.items()]
    for path, verb, route in sorted(routes, key=lambda each: each[:2]):
        scope = scopes[path, verb]
        parts.append(f"## {verb.upper()} `{path}`\n\n{route['summary']} {route.get('description', '')}".strip())
        parts.append(f"Needs the scope `{scope}`." if scope else "Needs no key.")
        parts += _parameters(route)
        answers = {code: answer for code, answer in route["responses"].items() if code not in _ANYWHERE}
        rows = [(code, answer["description"], _shape(answer)) for code, answer in sorted(answers.items())]
        parts.append(_table(("status", "when", "body"), rows))
    lead = (
        "The same as an OpenAPI 3.1 document: `/openapi.json`; to read: `/docs`. Send the key as"
        " `Authorization: Bearer KEY` or `X-Api-Key: KEY`. Where one is needed, 401 means none or an unknown one, 403"
        " that it lacks the scope. Any route may answer 500, and 503 with `Retry-After` while something that we depend"
        " on is out. The [codes](errors.md) tell more exactly what is wrong."
    )
    return _page("HTTP", lead, [*parts, "## Shapes", *_shapes(spec["components"]["schemas"])])


def events_page() -> str:
    """Describe the events of a turn."""
    lead = (
        "What `GET /v1/turns/{turn_id}/events` tells, as server-sent events. `data` is a JSON object with `turn_id`"
        " and `at`, deltas excepted, and the fields below. `id` is the event's number in its turn; send the last one"
        " as `Last-Event-ID` and the stream goes on after it. The stream ends with the turn."
    )
    rows = [(f"`{kind}`", sentence) for kind, sentence in EVENTS.items()]
    return _page("Events", lead, [_table(("event", "when, and what `data` holds"), rows)])


def errors_page() -> str:
    """Describe every error code, and where it is seen."""
    kinds = {kind.__name__: kind for kind in _subclasses(TurnloomError) if kind is not NeedsInput}
    classes = [
        (kind.code, str(kind.status), (kind.__doc__ or "").split("\n\n")[0])
        for kind in kinds.values()
        if kind.code.islower() and kind is not TurnloomError
    ]
    http = [(code, str(status), HTTPStatus(status).phrase) for status, code in HTTP_CODES.items() if status != 404]
    ours = [("internal_error", "500", "A fault of ours; the log has it under the problem's `trace_id`.")]
    found = [each for each in raised() if each.code.islower()]
    exact = [(each.code, str(kinds[each.kind].status), each.sentence) for each in found if each.kind in kinds]
    fields = [(each.code, each.sentence) for each in found if each.kind == "fault"]
    endings = [(each.code, each.sentence) for each in found if not each.kind]
    own = "these, and pydantic's names, such as `missing`, `extra_forbidden` or `string_too_long`"
    others = "`budget_exceeded`, or one of `llm_…` above, or `not_found` where its agent was removed meanwhile"
    parts = [
        "## Of a request\n\nIn `code` of the answer, which is `application/problem+json`.",
        _codes(("HTTP status", "meaning"), classes + http + ours),
        "More exact ones, with what they say; `…` differs from case to case.",
        _codes(("HTTP status", "sentence"), exact),
        f"## Of a field\n\nIn `errors[].code` of a problem: {own}.",
        _codes(("sentence",), fields),
        "## Of a plan\n\nIn `errors[].code` of a problem with the code `invalid_plan`, each with its step's id.",
        _codes(("meaning",), list(PLAN_FAULTS.items())),
        "## Of a step\n\nIn `steps[].error.code` of a turn, and in the event `step.finished`.",
        _codes(("meaning",), list(ERROR_CODES.items())),
        f"## Of a turn\n\nIn `error.code` of a failed turn: these, {others}.",
        _codes(("sentence",), endings),
    ]
    return _page("Errors", "The codes are stable; the sentences are for people and may change.", parts)


def commands_page() -> str:
    """Give the help text of every command."""
    helps = [f"## `{path}`\n\n```text\n{text}\n```" for path, text in _helps(turnloom, "turnloom", None)]
    where = "In a checkout, `. .venv/bin/activate` brings `turnloom` onto the PATH of a shell."
    return _page("Commands", f"{where}\n\nExit codes: 0 done, 1 the work failed, 2 wrong usage.", helps)


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
    """Return the name of a body's shape."""
    held = {kind: content["schema"] for kind, content in answer.get("content", {}).items() if content["schema"]}
    return " or ".join(f"`{kind}`" if kind.startswith("text/") else _type(schema) for kind, schema in held.items())


def _shapes(schemas: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for name, schema in sorted(schemas.items()):
        yield f"### {name}\n\n{schema.get('description', '')}".strip()
        yield from _fields(schema, "field")


def _fields(schema: Mapping[str, Any], title: str) -> Iterator[str]:
    required = schema.get("required", ())
    rows = []
    for name, field in schema.get("properties", {}).items():
        default = "required" if name in required else _literal(field.get("default"))
        rows.append((f"`{name}`", _type(field), default, field.get("description", "")))
    if rows:
        yield _table((title, "type", "default", "meaning"), rows)


def _is_current(path: Path, text: str) -> bool:
    return path.exists() and path.read_text() == text


def _page(title: str, lead: str, parts: list[str]) -> str:
    return "\n\n".join([f"# {title}", MADE, lead, *parts]) + "\n"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    cells = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(_escaped, row))} |" for row in cells)


def _codes(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return _table(("code", *head), [(f"`{code}`", *rest) for code, *rest in rows])


def _escaped(cell: str) -> str:
    return " ".join(cell.split()).replace("|", "\\|")


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
    bounds = ", ".join(f"{bound} {schema[bound]}" for bound in _BOUNDS if bound in schema)
    return str(schema.get("format") or schema.get("type") or "any") + (f" ({bounds})" if bounds else "")


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
