"""Read foreign definitions of tools, in MCP's format or in the formats of other function lists."""

import hashlib
from dataclasses import dataclass
from typing import Any

import orjson

from turnloom.models.errors import Invalid
from turnloom.tools.mcp.schemas import as_object

MOST_TOOLS = 500
"""Most tools of one server, because the language model reads all of them for every plan."""

_NAMES = ("name", "api_name", "id")
_DESCRIPTIONS = ("description", "api_description", "desc", "title")
_INPUTS = ("inputSchema", "input_schema", "parameters", "arguments")
_PARAMETERS = ("path_parameters", "query_parameters", "body_parameters", "header_parameters")
_OUTPUTS = ("outputSchema", "output_schema")


@dataclass(frozen=True)
class Definition:
    """A tool as its server describes it. Only the types of the fields have been checked."""

    name: str
    description: str
    input: Any
    output: Any
    """The schema of the structured result; None if the tool has none."""
    hints: dict[str, Any]
    """The tool's annotations, such as `readOnlyHint`."""
    digest: str
    """A hash of the whole definition. It changes whenever the definition does."""


def read_definition(raw: Any) -> Definition:
    """Read a definition in the format of MCP, OpenAI or Anthropic, or in a similar one.

    Raises:
        Invalid: the definition has no name, does not describe its arguments, or is not JSON.
    """
    try:
        digest = hashlib.sha256(orjson.dumps(raw, option=orjson.OPT_SORT_KEYS)).hexdigest()
    except (TypeError, ValueError) as error:
        raise Invalid(f"the definition is not JSON that can be stored: {error}") from error
    said = raw["function"] if isinstance(raw, dict) and isinstance(raw.get("function"), dict) else raw
    if not isinstance(said, dict):
        raise Invalid("the definition of a tool must be a JSON object")
    name = _first(said, _NAMES)
    if not isinstance(name, str):
        raise Invalid("the tool has no name")
    description = _first(said, _DESCRIPTIONS)
    hints = said.get("annotations")
    return Definition(
        name=name,
        description=description if isinstance(description, str) else "",
        input=_input(said),
        output=_first(said, _OUTPUTS),
        hints=hints if isinstance(hints, dict) else {},
        digest=digest,
    )


def _input(said: dict[str, Any]) -> Any:
    """Return the schema of the arguments, whatever the format of the definition."""
    found = _first(said, _INPUTS)
    groups = [said[key] for key in _PARAMETERS if isinstance(said.get(key), dict)]
    if found is None and groups:
        found = {name: schema for group in groups for name, schema in group.items()}
    if isinstance(found, list):
        found = _by_name(found)
    if found is None:
        raise Invalid("the tool does not describe its arguments")
    found = as_object(found) if found else {"type": "object", "properties": {}}
    required = said.get("required")
    if isinstance(required, list) and isinstance(found, dict) and "required" not in found:
        return found | {"required": required}
    return found


def _by_name(listed: list[Any]) -> dict[str, Any]:
    if not all(isinstance(one, dict) and isinstance(one.get("name"), str) for one in listed):
        raise Invalid("the tool has arguments without names")
    schemas = {one["name"]: {key: value for key, value in one.items() if key != "name"} for one in listed}
    return {"type": "object", "properties": {name: one.pop("schema", {}) | one for name, one in schemas.items()}}


def _first(said: dict[str, Any], keys: tuple[str, ...]) -> Any:
    return next((said[key] for key in keys if said.get(key) is not None), None)
