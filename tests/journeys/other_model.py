"""A second language model, which answers every question in another legal way than the offline model.

It understands messages by the offline model's rules, and goes its own way with them: its steps have other ids and
another order, beside them is a call that harms nothing, and it asks for no template or for another one, so that a
language model writes the reply. `python -m tests.journeys.other_model` serves it, for `turnloom eval --base-url`.
"""

import json
import re
import sys
import threading
from typing import Any

from werkzeug.wrappers import Response

from tests.planner.llm.scripted import scripted_server, stream
from turnloom.models.runtime.settings import ROOT
from turnloom.planner.llm.offline.prompt import Sent, read_request
from turnloom.planner.llm.offline.responses import write

_REFERENCE = re.compile(r'("\$from\\*": *\\*")')
_OWN = "own-"
"""The beginning of its steps' ids."""
_HARMLESS = ("pms.get_room_types", "notifications.list")
"""Calls that change nothing outside, and none of the conversation's slots."""
_WORDED = {
    "send_link_with_summary": "pms.generate_booking_link",
    "present_best_two_options": "pms.get_availability",
    "propose_times": "network.schedule_meeting",
    "meeting_confirmed": "network.confirm_meeting",
    "meeting_moved": "network.reschedule_meeting",
    "meeting_cancelled": "network.cancel_meeting",
}
_UNSAID = {
    "id",
    "document",
    "collection",
    "score",
    "session_id",
    "counterpart_user_id",
    "connection_id",
    "uid",
    "invite",
}
_MOST_TEXT = 6_000


def answer(body: dict[str, Any]) -> str:
    """Return the text of the model's answer to a request."""
    sent = read_request(json.loads(json.dumps(body).replace(_OWN, "")))
    if sent.results is not None and sent.draft is None:
        return _told(sent.results)
    text = write(sent, ROOT / "prompts")
    return text if sent.tools is None else json.dumps(_otherwise(json.loads(text), sent, body), ensure_ascii=False)


def _otherwise(plan: dict[str, Any], sent: Sent, body: dict[str, Any]) -> dict[str, Any]:
    """Return another plan that does the same."""
    hint, steps = plan["synthesis_hint"], _renamed(plan["steps"])
    if hint and not steps and not sent.done:
        return {**plan, "synthesis_hint": None, "reply": _recalled(hint, plan, sent)}
    steps += _harmless(sent) if hint and not sent.done else []
    for phase in plan.get("phases", []):
        phase["steps"] = [_OWN + id_ for id_ in phase["steps"]]
    later = len(sent.messages) > 1
    return {**plan, "confidence": 0.8, "synthesis_hint": _another(hint, body) if later else None, "steps": steps[::-1]}


def _renamed(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give the steps other ids, also where others refer to them."""
    found: list[dict[str, Any]] = json.loads(_REFERENCE.sub(rf"\1{_OWN}", json.dumps(steps)))
    return [{**step, "id": _OWN + step["id"], "needs": [_OWN + need for need in step["needs"]]} for step in found]


def _harmless(sent: Sent) -> list[dict[str, Any]]:
    tools = sent.tools or {}
    return [
        {
            "tool": tool,
            "id": "besides",
            "reason": "To be sure",
            "args": dict.fromkeys(tools[tool].get("properties", {})),
            "needs": [],
            "on_need_error": None,
        }
        for tool in _HARMLESS
        if tool in tools and sent.at_most is None and not sent.is_phased
    ]


def _another(hint: str | None, body: dict[str, Any]) -> str | None:
    """Return one of the agent's templates other than the one that was meant."""
    schema = body["response_format"]["json_schema"]["schema"]["properties"]["synthesis_hint"]
    found = re.findall(r'"([a-z_]+)"', json.dumps([branch.get("enum") for branch in schema.get("anyOf", [schema])]))
    return next((name for name in found if name != hint), None)


def _recalled(hint: str, plan: dict[str, Any], sent: Sent) -> str:
    """Return the answer for which the other model would have used a template without steps."""
    newest = next((entry for entry in sent.remembered if entry["tool"] == _WORDED.get(hint)), None)
    if newest is not None:
        return f"Once more: {_said(newest['result'])}."
    noted = {name: value for name, value in (plan["slots"] or {}).items() if value is not None}
    return f"I have noted {_said(noted)}." if noted else "For which dates shall it be, and for which room?"


def _told(results: list[dict[str, Any]]) -> str:
    return "\n".join(
        f"{step['tool'].rpartition('.')[2].replace('_', ' ')}: "
        + (_said(step.get("result")) if step["status"] == "succeeded" else "that did not work")
        for step in results
    )[:_MOST_TEXT]


def _said(value: Any, name: str = "") -> str:
    """Write a value with the names of its fields, as a poor model would. Ids and addresses are left out."""
    if isinstance(value, dict):
        fields = ((key, inner) for key, inner in value.items() if key not in _UNSAID)
        parts = (_said(inner, key) for key, inner in fields if inner not in (None, "", [], {}))
        return ", ".join(part for part in parts if part)
    if isinstance(value, list):
        return "; ".join(_said(inner, name) for inner in value[:4])
    return "" if isinstance(value, bool) or "@" in str(value) else f"{name.replace('_', ' ')} {value}".strip()


def behave(body: dict[str, Any]) -> Response:
    """Answer as the server of a script does."""
    return stream([answer(body)], whole=not body.get("stream"))


if __name__ == "__main__":
    with scripted_server() as serving:
        serving.otherwise = behave
        sys.stdout.write(f"{serving.url}\n")
        sys.stdout.flush()
        threading.Event().wait()
