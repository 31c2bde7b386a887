"""Leave out tools where the response schema of all of them is too large for the endpoint.

First only those stay that fit what was said, and the model may search for others. If these are still too many, half of
an agent's tools stay: those whose names and descriptions share most words with the message, and of equals the first.
"""

from dataclasses import replace

from turnloom.models.errors import Unavailable
from turnloom.planner.draft.context import PlanningContext
from turnloom.planner.words import words_in
from turnloom.tools.registry import Registry, Tool


def with_fewer_tools(context: PlanningContext, error: Unavailable, left_s: float) -> PlanningContext:
    """Return the context with fewer tools and the time that is left.

    Raises:
        Unavailable: the error, if it is about something else or no fewer tools are possible.
    """
    tools = list(context.tools.tools.values())
    if error.code != "schema_too_large" or len(tools) < 2:
        raise error
    if not context.shows_few_tools:
        return replace(context, shows_few_tools=True, timeout_s=left_s)
    message = set(words_in(context.message))
    ranked = sorted(tools, key=lambda tool: -len(message & _words(tool)))
    kept = {tool.name for tool in ranked[: len(tools) // 2]}
    fewer = Registry({tool.name: tool for tool in tools if tool.name in kept})
    books = context.playbooks.for_agent(context.agent.name, fewer)
    return replace(context, tools=fewer, playbooks=books, timeout_s=left_s)


def _words(tool: Tool) -> set[str]:
    return set(words_in(f"{tool.name.replace('.', ' ').replace('_', ' ')} {tool.description}"))
