"""List the tools and agents that this deployment offers."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import cast

from apiflask import APIBlueprint
from flask import Response, current_app
from pydantic import Field

from turnloom.models.connections.database import snapshot
from turnloom.models.contracts.base import Contract
from turnloom.models.contracts.listing import AgentList, AgentView, ToolList, ToolView
from turnloom.models.contracts.tool_stats import ToolStatsList
from turnloom.models.ledger import tool_stats
from turnloom.models.ledger.override_cache import overrides_of
from turnloom.planner.agents import AgentProfile, Agents
from turnloom.planner.tenant_texts import tailor
from turnloom.tools.registry import Registry, Tool
from turnloom.web.auth import caller, requires
from turnloom.web.json_body import json_response

_EXTENSION = "turnloom.catalogue"

blueprint = APIBlueprint("catalogue", __name__, url_prefix="/v1", tag="Catalogue")


@dataclass(frozen=True)
class Catalogue:
    """The tools and agents that this deployment has enabled."""

    registry: Registry

    @property
    def agents(self) -> Agents:
        """The agents as the caller's tenant has them."""
        return tailor(overrides_of(caller().tenant_id)).agents


def install(extensions: dict[str, object], installed: Catalogue) -> None:
    """Give an application its catalogue."""
    extensions[_EXTENSION] = installed


def catalogue() -> Catalogue:
    """Return the application's catalogue."""
    return cast("Catalogue", current_app.extensions[_EXTENSION])


@blueprint.get("/tools")
@requires("turns:read")
@blueprint.output(ToolList)
@blueprint.doc(operation_id="list_tools")
def tools() -> Response:
    """List the tools of the enabled packs."""
    return json_response(ToolList(items=[_tool_view(tool) for tool in catalogue().registry.tools.values()]))


class StatsQuery(Contract):
    """The period of the statistics."""

    hours: int = Field(24, ge=1, le=8_760)
    """Count the turns received in the last this many hours."""


@blueprint.get("/tools/stats")
@requires("admin")
@blueprint.input(StatsQuery, location="query")
@blueprint.output(ToolStatsList)
@blueprint.doc(operation_id="get_tool_stats")
def stats(query_data: StatsQuery) -> Response:
    """Show how tool calls went in the tenant's turns: successes, times, missing fields, errors."""
    since = datetime.now(UTC) - timedelta(hours=query_data.hours)
    with snapshot(caller().tenant_id) as db:
        found = tool_stats.of_tools(db, since, caller().tenant_id)
    return json_response(ToolStatsList(items=found))


@blueprint.get("/agents")
@requires("turns:read")
@blueprint.output(AgentList)
@blueprint.doc(operation_id="list_agents")
def agents() -> Response:
    """List the agents, as the caller's tenant has them."""
    return json_response(AgentList(items=[_agent_view(agent) for agent in catalogue().agents.profiles.values()]))


def _tool_view(tool: Tool) -> ToolView:
    return ToolView(
        name=tool.name,
        description=tool.description,
        effect=tool.effect,
        queue=tool.queue,
        timeout_s=tool.timeout_s,
        inline=tool.inline,
        requires_approval=tool.requires_approval,
        isolation=tool.isolation,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
    )


def _agent_view(agent: AgentProfile) -> AgentView:
    return AgentView(
        name=agent.name,
        version=agent.version,
        source=agent.source,
        description=agent.description,
        mode=agent.mode,
        modes=agent.modes,
        tools=list(catalogue().registry.allowed(agent.tools).tools),
        max_depth=agent.max_depth,
        max_fan_out=agent.max_fan_out,
        suggestions=[each.text for each in agent.suggestions if each.after is None],
    )
