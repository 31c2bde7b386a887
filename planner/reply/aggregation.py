"""Aggregate: call the agent's formatter on the results if the plan's own formatter step is missing or failed.

The agent's profile names the formatter and the sources of its arguments.
"""

from typing import Any, NamedTuple

from turnloom.models.contracts.step_result import StepResult
from turnloom.planner.reply.reply_input import Outcome
from turnloom.tools.registry import Tool

STEP = "aggregation"
"""The id under which the formatter's result is listed beside the plan's own steps."""


class Aggregation(NamedTuple):
    """A call of a formatter."""

    tool: Tool
    args: dict[str, Any]


def aggregation(outcome: Outcome) -> Aggregation | None:
    """Return the formatter call that completes the answer; None if none is wanted or there are no results."""
    formatter = outcome.agent.formatter
    if formatter is None or outcome.submitted or outcome.stop in ("cancelled", "superseded"):
        return None
    tool = outcome.tools.tools.get(formatter.tool)
    wanted = outcome.synthesis_hint == formatter.hint or any(step.tool == formatter.tool for step in outcome.steps)
    if tool is None or not (tool.formatter and tool.inline) or not wanted or outcome.question():
        return None
    if outcome.formatted() is not None or not any(outcome.succeeded()):
        return None
    found = {name: _first(sources, outcome) for name, sources in formatter.args.items()}
    return Aggregation(tool, {name: value for name, value in found.items() if value is not None})


def aggregated(call: Aggregation, result: Any) -> StepResult:
    """Return the result of the call as a step outcome."""
    return StepResult(id=STEP, tool=call.tool.name, args=call.args, status="succeeded", result=result)


def _first(sources: list[str | int], outcome: Outcome) -> Any:
    return next((value for source in sources if (value := _value(source, outcome)) is not None), None)


def _value(source: str | int, outcome: Outcome) -> Any:
    if isinstance(source, int):
        return source
    if source.startswith("slots."):
        return outcome.slots.get(source.removeprefix("slots."))
    tool, _, field = source.partition(":")
    result = outcome.results().get(tool)
    return result.get(field) if field and isinstance(result, dict) else result
