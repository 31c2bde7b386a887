"""What the offline model is sent: the request's messages and response format, as a real model would see them."""

import json
import re
from dataclasses import dataclass
from typing import Any

_TAGS = "message|slots|memory|summary|exchanges|results|observations|incoming|knowledge|draft|unavailable"
_TAGGED = re.compile(rf"<({_TAGS})>\n([^<]*)\n</\1>")
"""What stands between tags is JSON, in which `<` is escaped."""
_FORMATS = frozenset({"steps", "contradicted", "verdict"})
"""The field by which we know a response format: of a plan, of a conclusion, of a judgement."""


@dataclass(frozen=True)
class Sent:
    """One request, read."""

    messages: list[str]
    """What the user wrote, oldest first."""
    results: list[dict[str, Any]] | None
    """The results to report on, where the request asks for that."""
    done: dict[str, str]
    """Step -> status, of those that have ended in the turn."""
    observed: dict[str, Any]
    """Step -> result, of those that succeeded in the turn."""
    tools: dict[str, dict[str, Any]] | None
    """Tool -> schema of its arguments, as far as the response format offers them; None where it wants no plan."""
    slots: dict[str, Any]
    """What the conversation has settled so far."""
    slot_names: list[str]
    """Slots that the plan is to write down, where the response format asks for them."""
    memory: list[dict[str, Any]]
    """Results of earlier turns that still hold."""
    summary: str | None
    draft: str | None
    """The reply to judge, where the request asks for that."""
    exchanges: list[dict[str, str]] | None
    """What is to be summed up, after the summary, where the request asks for that."""
    at_most: int | None
    """Steps that the response format has room for; None where it sets no bound."""
    is_phased: bool
    """Whether the plan is to tell its phases and assumptions."""
    incoming: list[dict[str, Any]] | None
    """The results to learn from, where the request asks for that."""
    unavailable: dict[str, dict[str, Any]]
    """Tool -> why it cannot be used now."""
    knowledge: dict[str, Any]
    """What is known already."""


def read_request(body: dict[str, Any]) -> Sent:
    """Read a request body of chat completions.

    Raises:
        ValueError: it is none; the message says why.
    """
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise ValueError("`messages` must be a list with at least one message")
    said: list[str] = []
    tagged: dict[str, Any] = {}
    for message in messages:
        content = message.get("content") if isinstance(message, dict) else None
        if not isinstance(content, str):
            raise ValueError("each message needs a `role` and a text as `content`")  # noqa: TRY004 - what a caller sent
        # A word about an answer of ours changes nothing: the message to answer stays the same.
        if message.get("role") == "user" and not ("<faults>" in content or "<reasons>" in content):
            tagged = {name: json.loads(text) for name, text in _TAGGED.findall(content)}
            said.append(tagged.get("message", content))
    plan = _plan_schema(body.get("response_format"))
    steps = plan["steps"] if plan else None
    return Sent(
        messages=said,
        results=tagged.get("results"),
        done={step["id"]: step["status"] for step in tagged.get("observations", [])},
        observed={step["id"]: step["result"] for step in tagged.get("observations", []) if "result" in step},
        tools=_offered(steps),
        slots=tagged.get("slots", {}),
        slot_names=list(plan.get("slots", {}).get("properties", {})) if plan else [],
        memory=tagged.get("memory", []),
        summary=tagged.get("summary"),
        draft=tagged.get("draft"),
        exchanges=tagged.get("exchanges"),
        at_most=steps.get("maxItems") if steps else None,
        is_phased="phases" in (plan or {}),
        incoming=tagged.get("incoming"),
        unavailable=tagged.get("unavailable", {}),
        knowledge=tagged.get("knowledge", {}),
    )


def _plan_schema(response_format: Any) -> dict[str, Any] | None:
    """Return the schemas of a plan's fields, None where no plan is wanted."""
    if not isinstance(response_format, dict) or response_format.get("type") != "json_schema":
        return None
    try:
        fields: dict[str, Any] = response_format["json_schema"]["schema"]["properties"]
    except (KeyError, TypeError):
        raise _unknown_format() from None
    if _FORMATS.isdisjoint(fields):
        raise _unknown_format()
    return fields if "steps" in fields else None


def _offered(steps: dict[str, Any] | None) -> dict[str, dict[str, Any]] | None:
    if steps is None:
        return None
    try:
        variants = [variant["properties"] for variant in steps["items"].get("anyOf", [])]
        return {properties["tool"]["const"]: properties["args"] for properties in variants}
    except (KeyError, TypeError):
        raise _unknown_format() from None


def _unknown_format() -> ValueError:
    return ValueError("the offline model does not know this response format")
