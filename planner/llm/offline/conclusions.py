"""From results to a conclusion: the named things in their lists that are not known yet."""

from collections.abc import Iterator
from typing import Any

_MOST = 20


def conclude(incoming: list[dict[str, Any]], known: dict[str, Any]) -> dict[str, Any]:
    """Return a conclusion from observations. The rules make no hypotheses and doubt no assumption."""
    names = {entity["name"] for entity in known.get("entities", [])}
    found = [entity for observation in incoming for entity in _named(observation) if entity["name"] not in names]
    return {"entities": found[:_MOST], "hypotheses": [], "contradicted": []}


def _named(observation: dict[str, Any]) -> Iterator[dict[str, Any]]:
    result = observation["result"]
    lists = [value for value in result.values() if isinstance(value, list)] if isinstance(result, dict) else []
    for entry in (entry for listed in lists for entry in listed):
        if isinstance(entry, dict) and isinstance(entry.get("name"), str) and entry["name"]:
            simple = {
                key: value for key, value in entry.items() if isinstance(value, str | int | float) and value != ""
            }
            yield {
                "type": _kind(observation["tool"]),
                "name": entry["name"],
                "step": observation["step"],
                "confidence": 0.9,
                "attributes": [{"name": key, "value": value} for key, value in simple.items() if key != "name"],
                "links": [],
            }


def _kind(tool: str) -> str:
    """Return the kind of thing that a tool finds: `travel.search_hotels` finds a hotel."""
    name = tool.rsplit(".", 1)[-1]
    return name.split("_", 1)[-1].removesuffix("s") or name
