"""The offline model's input: the messages and response format of a request, as a real model would see them."""

import json
import re
from dataclasses import dataclass
from typing import Any

from turnloom.planner.llm.schema import JSON_TEXT

_TAGS = "message|slots|memory|earlier|asked|summary|exchanges|results|observations|incoming|knowledge|draft|unavailable"
_TAGGED = re.compile(rf"<({_TAGS})>\n([^<]*)\n</\1>")
"""The text between tags is JSON, in which `<` is escaped."""
_WRITTEN = re.compile(r"Write in ([A-Z]\w+)")
_FORMATS = frozenset({"steps", "contradicted", "verdict"})
"""The fields that tell response formats apart: of a plan, a conclusion, a judgement."""


@dataclass(frozen=True)
class Sent:
    """A request that has been read."""

    messages: list[str]
    """The user's messages, oldest first."""
    rules: str
    """The text of the system prompt."""
    language: str | None
    """The language that the prompt asks for, in English; None if it names none."""
    asked: list[dict[str, Any]]
    """The calls for which the last reply asked the user something."""
    results: list[dict[str, Any]] | None
    """The results to report on, if the request asks for a report."""
    done: dict[str, str]
    """Step -> status, for the steps of the turn that have ended."""
    observed: dict[str, Any]
    """Step -> result, for the steps of the turn that have one."""
    tools: dict[str, dict[str, Any]] | None
    """Tool -> schema of its arguments, for the tools that the response format offers; None if it wants no plan."""
    step_fields: list[str]
    """The fields of a step in the response format."""
    call_fields: dict[str, list[str]]
    """Tool -> the fields of its call in the response format."""
    slots: dict[str, Any]
    """Slots that the conversation has settled so far."""
    slot_names: list[str]
    """Slots that the plan should write down, if the response format asks for them."""
    memory: list[dict[str, Any]]
    """Results of earlier turns that still hold, newest first."""
    remembered: list[dict[str, Any]]
    """These, what earlier turns did, and results that may have changed since, newest first."""
    summary: str | None
    draft: str | None
    """The reply to judge, if the request asks for a judgement."""
    exchanges: list[dict[str, str]] | None
    """The exchanges to summarise after the summary, if the request asks for that."""
    at_most: int | None
    """Most steps that the response format allows; None if it sets no bound."""
    is_phased: bool
    """Whether the plan should list its phases and assumptions."""
    incoming: list[dict[str, Any]] | None
    """The results to learn from, if the request asks for a conclusion."""
    unavailable: dict[str, dict[str, Any]]
    """Tool -> the reason why it cannot be used now."""
    knowledge: dict[str, Any]
    """The knowledge so far."""


def read_request(body: dict[str, Any]) -> Sent:
    """Read the body of a chat completions request.

    Raises:
        ValueError: the body is not such a request; the message says why.
    """
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise ValueError("`messages` must be a list with at least one message")
    said: list[str] = []
    found: list[Any] = []
    tagged: dict[str, Any] = {}
    for message in messages:
        content = message.get("content") if isinstance(message, dict) else None
        if not isinstance(content, str):
            raise ValueError("each message needs a `role` and a text as `content`")  # noqa: TRY004 - what a caller sent
        # A message about our last answer is skipped. The message to answer stays the same.
        if message.get("role") == "user" and not ("<faults>" in content or "<reasons>" in content):
            found += tagged.get("memory", [])
            tagged = {name: json.loads(text) for name, text in _TAGGED.findall(content)}
            said.append(tagged.get("message", content))
    plan, defined = _plan_schema(body.get("response_format"))
    steps = plan["steps"] if plan else None
    rules = "\n".join(message["content"] for message in messages if message.get("role") == "system")
    calls = _calls(steps, defined)
    memory, remembered = _remembered(found[::-1], tagged.get("memory", []), tagged.get("earlier", []))
    return Sent(
        messages=said,
        rules=rules,
        language=named[1] if (named := _WRITTEN.search(rules)) else None,
        asked=tagged.get("asked", []),
        results=tagged.get("results"),
        done={step["id"]: step["status"] for step in tagged.get("observations", [])},
        observed={step["id"]: step["result"] for step in tagged.get("observations", []) if "result" in step},
        tools=None if calls is None else {tool: fields["args"] for tool, fields in calls.items()},
        step_fields=list(steps["items"].get("properties", {})) if steps and calls else [],
        call_fields={tool: list(fields) for tool, fields in (calls or {}).items()},
        slots=tagged.get("slots", {}),
        slot_names=list(plan.get("slots", {}).get("properties", {})) if plan else [],
        memory=memory,
        remembered=remembered,
        summary=tagged.get("summary"),
        draft=tagged.get("draft"),
        exchanges=tagged.get("exchanges"),
        at_most=steps.get("maxItems") if steps else None,
        is_phased="phases" in (plan or {}),
        incoming=tagged.get("incoming"),
        unavailable=tagged.get("unavailable", {}),
        knowledge=tagged.get("knowledge", {}),
    )


def _remembered(found: list[Any], memory: list[Any], earlier: list[Any]) -> tuple[list[Any], list[Any]]:
    """Return the results of earlier turns that hold, and all of them, newest first.

    `found`: those that stand with their turns, newest first. `earlier`: others that do not hold, or ids of those.
    """
    doubtful = [entry for entry in earlier if isinstance(entry, dict)]
    beside = sorted([*memory, *doubtful], key=lambda entry: entry["age_s"])
    holding = [entry for entry in found if entry["id"] not in earlier]
    return [*holding, *(entry for entry in beside if entry not in doubtful)], [*found, *beside]


def _plan_schema(response_format: Any) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """Return the schemas of a plan's fields, None if no plan is wanted, and the parts that they share."""
    if not isinstance(response_format, dict) or response_format.get("type") != "json_schema":
        return None, {}
    try:
        schema: dict[str, Any] = response_format["json_schema"]["schema"]
        fields: dict[str, Any] = schema["properties"]
    except (KeyError, TypeError):
        raise _unknown_format() from None
    if _FORMATS.isdisjoint(fields):
        raise _unknown_format()
    return fields if "steps" in fields else None, schema.get("$defs", {})


def _calls(steps: dict[str, Any] | None, defined: dict[str, Any]) -> dict[str, dict[str, Any]] | None:
    """Return tool -> the schemas of its call's fields; None if no plan is wanted."""
    if steps is None:
        return None
    try:
        if "properties" not in steps["items"]:
            return {}
        call = _unfolded(steps["items"]["properties"]["call"], defined)
        variants = [variant["properties"] for variant in call.get("anyOf", [call])]
        return {properties["tool"]["const"]: properties for properties in variants}
    except (KeyError, TypeError):
        raise _unknown_format() from None


def _unfolded(value: Any, defined: dict[str, Any]) -> Any:
    """Return a part of a schema with its shared parts written out, except JSON text."""
    if isinstance(value, list):
        return [_unfolded(inner, defined) for inner in value]
    if not isinstance(value, dict) or value == JSON_TEXT:
        return value
    if "$ref" in value:
        return _unfolded(defined[value["$ref"].rsplit("/", 1)[-1]], defined)
    return {name: _unfolded(inner, defined) for name, inner in value.items()}


def _unknown_format() -> ValueError:
    return ValueError("the offline model does not know this response format")
