"""What the offline model is sent: the request's messages and response format, as a real model would see them."""

import json
import re
from dataclasses import dataclass
from typing import Any

_TAGGED = re.compile(r"<(message|results)>\n(.*?)\n</\1>", re.DOTALL)


@dataclass(frozen=True)
class Sent:
    """One request, read."""

    messages: list[str]
    """What the user wrote, oldest first."""
    results: list[dict[str, Any]] | None
    """The results to report on, where the request asks for that."""
    tools: dict[str, dict[str, Any]] | None
    """Tool -> schema of its arguments, as far as the response format offers them; None where it wants no plan."""


def read_request(body: dict[str, Any]) -> Sent:
    """Read a request body of chat completions.

    Raises:
        ValueError: it is none; the message says why.
    """
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise ValueError("`messages` must be a list with at least one message")
    said: list[str] = []
    results = None
    for message in messages:
        content = message.get("content") if isinstance(message, dict) else None
        if not isinstance(content, str):
            raise ValueError("each message needs a `role` and a text as `content`")  # noqa: TRY004 - what a caller sent
        if message.get("role") == "user":
            tagged = {name: json.loads(text) for name, text in _TAGGED.findall(content)}
            results = tagged.get("results")
            said += [tagged["message"]] if "message" in tagged else _untagged(content)
    return Sent(said, results, _offered(body.get("response_format")))


def _untagged(content: str) -> list[str]:
    """Take the text as it is, unless it is a word about an answer of ours: the message to answer stays the same."""
    return [] if "<faults>" in content else [content]


def _offered(response_format: Any) -> dict[str, dict[str, Any]] | None:
    if not isinstance(response_format, dict) or response_format.get("type") != "json_schema":
        return None
    try:
        steps = response_format["json_schema"]["schema"]["properties"]["steps"]["items"]
        variants = [variant["properties"] for variant in steps.get("anyOf", [])]
        return {properties["tool"]["const"]: properties["args"] for properties in variants}
    except (KeyError, TypeError):
        raise ValueError("the offline model knows only the response format of a plan") from None
