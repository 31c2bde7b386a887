"""A hook that the workers of journeys load.

It vetoes one value, raises at another, hides a third, and makes the weather of Osaka fail.
"""

from typing import Any

from turnloom.models.contracts.envelope import Envelope, ToolError
from turnloom.planner.llm.hooked_model import ModelCall
from turnloom.tools.hooks import ToolCall, Veto


def before_tool(call: ToolCall) -> Veto | None:
    if call.args.get("value") == "broken":
        raise RuntimeError("nobody is to read this")
    return Veto("that word is not said here") if call.args.get("value") == "forbidden" else None


def after_tool(call: ToolCall, envelope: Envelope) -> Envelope | None:
    if call.tool == "travel.lookup_weather" and call.args["city"] == "Osaka":
        return Envelope(ok=False, error=ToolError(code="UPSTREAM_5XX", message="the weather service is down"))
    hidden: dict[str, Any] = {"value": "(hidden)"}
    return envelope.model_copy(update={"data": hidden}) if envelope.data == {"value": "secret"} else None


def before_model(call: ModelCall) -> Veto | None:
    return Veto("We are closed today.") if '"closed' in call.messages[-1]["content"] else None
