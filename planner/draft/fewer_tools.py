"""Leave out tools where the response schema of all of them is too large for the endpoint.

First only those stay that fit what was said, and the model may search for others. If these are still too many, half of
an agent's tools stay: those that match the message best.
"""

from dataclasses import replace

from turnloom.models.errors import Unavailable
from turnloom.planner.draft.context import PlanningContext
from turnloom.planner.draft.tool_choice import ranked
from turnloom.tools.registry import Registry


def with_fewer_tools(context: PlanningContext, error: Unavailable, left_s: float) -> PlanningContext:
    """Return the context with fewer tools and the time that is left.

    Raises:
        Unavailable: the error, if it is about something else or no fewer tools are possible.
    """
    tools = context.tools.tools
    if error.code != "schema_too_large" or len(tools) < 2:
        raise error
    if not context.shows_few_tools:
        return replace(context, shows_few_tools=True, timeout_s=left_s)
    best = list(ranked(context.tools, context.message))[: len(tools) // 2]
    fewer = Registry({name: tool for name, tool in tools.items() if name in best})
    books = context.playbooks.for_agent(context.agent.name, fewer)
    return replace(context, tools=fewer, playbooks=books, timeout_s=left_s)
