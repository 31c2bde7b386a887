"""The origin of what a result says: the document or page that it is, otherwise the service that was asked.

Two tools of one service, and two results of one document, do not corroborate each other.
"""

from collections.abc import Iterator
from typing import Any

_NAMING = ("document", "url")
"""Fields of a result that name the document or the page that it is, or consists of."""
_DEPTH = 3
_LONGEST = 200


def origin_of(tool: str, result: Any) -> str:
    """Return who says what a tool's result says."""
    named = set(_documents(result, _DEPTH))
    return named.pop()[:_LONGEST] if len(named) == 1 else service_of(tool)


def service_of(tool: str) -> str:
    """Return the service that a tool asks: its pack, or its MCP server."""
    return tool.partition(".")[0]


def _documents(value: Any, depth: int) -> Iterator[str]:
    if depth == 0:
        return
    if isinstance(value, list):
        for item in value:
            yield from _documents(item, depth - 1)
    elif isinstance(value, dict):
        yield from (value[name] for name in _NAMING if isinstance(value.get(name), str) and value[name])
        for inner in value.values():
            yield from _documents(inner, depth - 1)
