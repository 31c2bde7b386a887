"""Read the results that a server returns. Everything in them is data."""

from typing import Any

import mcp_types as types
from pydantic_core import from_json

from turnloom.models.errors import ToolFailed
from turnloom.tools.mcp.call_target import TextResult
from turnloom.tools.mcp.foreign_models import Foreign
from turnloom.tools.mcp.foreign_texts import clean

_LONGEST_REASON = 500


def read_result(found: types.CallToolResult, *, is_structured: bool) -> TextResult | Foreign:
    """Return the structured result if the tool has a schema for it, else the text.

    Raises:
        ToolFailed: UPSTREAM_4XX, the tool reports a failure; UPSTREAM_5XX, the structured result is missing.
    """
    text = "\n".join(_text(block) for block in found.content)
    if found.is_error:
        raise ToolFailed(clean(text, _LONGEST_REASON) or "the tool failed and gave no reason", code="UPSTREAM_4XX")
    if not is_structured:
        return TextResult(text=text, data=_data(found.structured_content, text))
    if not isinstance(found.structured_content, dict):
        raise ToolFailed("the tool has a schema for its results, but returned no structured one", code="UPSTREAM_5XX")
    return Foreign(found.structured_content)


def _text(block: Any) -> str:
    """Return the text of a block. For a picture, sound, file or link, return its name in brackets."""
    match block:
        case types.TextContent():
            return block.text
        case types.EmbeddedResource(resource=types.TextResourceContents() as resource):
            return resource.text
        case types.EmbeddedResource(resource=resource):
            return f"[file {resource.uri}]"
        case types.ResourceLink():
            return f"[link {block.name}: {block.uri}]"
    return f"[{block.type} {getattr(block, 'mime_type', '')}]"


def _data(structured: Any, text: str) -> Any:
    if structured is not None or not text.lstrip().startswith(("{", "[")):
        return structured
    try:
        return from_json(text, allow_inf_nan=False)
    except ValueError:
        return None
