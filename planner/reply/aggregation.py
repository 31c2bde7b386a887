"""Aggregate: call the agent's formatter on the results if the plan's own formatter step is missing or failed.

The agent's profile names the formatter and the sources of its arguments.
"""

from typing import Any, NamedTuple

from turnloom.models.contracts.step_result import StepResult
from turnloom.planner.reply.reply_input import ReplyInput
from turnloom.tools.registry import Tool

STEP = "aggregation"
"""The id under which the formatter's result is listed beside the plan's own steps."""


class Aggregation(NamedTuple):
    """A call of a formatter."""

    tool: Tool
    args: dict[str, Any]


def aggregation(given: ReplyInput) -> Aggregation | None:
    """Return the formatter call that completes the answer; None if none is wanted or there are no results."""
    formatter, material = given.agent.formatter, given.material
    if formatter is None or material.has_fixed_plan or material.ending in ("cancelled", "superseded", "paused"):
        return None
    tool = given.tools.tools.get(formatter.tool)
    wanted = material.synthesis_hint == formatter.hint or any(step.tool == formatter.tool for step in material.steps)
    if tool is None or not (tool.formatter and tool.inline) or not wanted or given.missing():
        return None
    if given.formatted() is not None or not any(given.succeeded()):
        return None
    found = {name: _first(sources, given) for name, sources in formatter.args.items()}
    return Aggregation(tool, {name: value for name, value in found.items() if value is not None})


def aggregated(call: Aggregation, result: Any) -> StepResult:
    """Return the formatter's output as the result of a step."""
    return StepResult(id=STEP, tool=call.tool.name, args=call.args, status="succeeded", result=result)


def _first(sources: list[str | int], given: ReplyInput) -> Any:
    return next((value for source in sources if (value := _value(source, given)) is not None), None)


def _value(source: str | int, given: ReplyInput) -> Any:
    if isinstance(source, int):
        return source
    if source.startswith("slots."):
        return given.slots.get(source.removeprefix("slots."))
    tool, _, field = source.partition(":")
    result = given.results().get(tool)
    return result.get(field) if field and isinstance(result, dict) else result
