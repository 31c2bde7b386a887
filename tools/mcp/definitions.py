"""Read what others call the definition of a tool: MCP's own, and the dialects of other lists of functions."""

import hashlib
from dataclasses import dataclass
from typing import Any

import orjson

from models.errors import Invalid
from tools.mcp.schemas import as_object

_NAMES = ("name", "api_name", "id")
_DESCRIPTIONS = ("description", "api_description", "desc", "title")
_INPUTS = ("inputSchema", "input_schema", "parameters", "arguments")
_PARAMETERS = ("path_parameters", "query_parameters", "body_parameters", "header_parameters")
_OUTPUTS = ("outputSchema", "output_schema")


@dataclass(frozen=True)
class Definition:
    """A tool as its server describes it. Nothing in it has been checked, but that it is there."""

    name: str
    description: str
    input: Any
    output: Any
    """The schema of its structured result; None where it has none."""
    hints: dict[str, Any]
    """What it says of itself: `readOnlyHint` and the like."""
    digest: str
    """The same as long as nothing of it changes."""


def read_definition(raw: Any) -> Definition:
    """Read a definition: MCP's, OpenAI's or Anthropic's, or one like them.

    Raises:
        Invalid: it has no name, says nothing of its arguments, or is no JSON.
    """
    try:
        digest = hashlib.sha256(orjson.dumps(raw, option=orjson.OPT_SORT_KEYS)).hexdigest()
    except (TypeError, ValueError) as error:
        raise Invalid(f"this is no JSON that can be stored: {error}") from error
    said = raw["function"] if isinstance(raw, dict) and isinstance(raw.get("function"), dict) else raw
    if not isinstance(said, dict):
        raise Invalid("this is no definition of a tool")
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
    """Return the schema of the arguments, in whatever dialect."""
    found = _first(said, _INPUTS)
    groups = [said[key] for key in _PARAMETERS if isinstance(said.get(key), dict)]
    if found is None and groups:
        found = {name: schema for group in groups for name, schema in group.items()}
    if isinstance(found, list):
        found = _by_name(found)
    if found is None:
        raise Invalid("the tool does not say what its arguments are called")
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
