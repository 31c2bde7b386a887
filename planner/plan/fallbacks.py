"""Fallbacks: the tools whose calls may take the place of another tool's failed call."""

from turnloom.planner.plan.playbooks import called_name
from turnloom.planner.plan.references import compatible
from turnloom.tools.registry import Tool


def can_replace(tool: Tool, main: Tool) -> bool:
    """Return whether a call of a tool can be a fallback for one of another tool, or for another call of the same.

    It runs at once, under the step's claim. So it must need no approval and only read, because a call of it that is
    lost has no key to find it by. Its result must have the fields that later steps may refer to.
    """
    is_free = called_name(tool.name) is None and tool.effect == "read" and not tool.requires_approval
    return is_free and tool.queue == main.queue and compatible(tool.output_schema, main.output_schema)
