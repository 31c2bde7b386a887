"""`turnloom tools`, `turnloom agents`, `turnloom plan`: what a plan may call, who plans, and what would be planned."""

from datetime import UTC, datetime
from typing import Any

import click
from rich.console import Console

from models.contracts.plan import Step, implied_needs
from models.contracts.turn import Mode
from models.settings import settings
from planner.agents import AgentProfile
from planner.context import PlanningContext
from planner.drafting import Draft, draft
from planner.graph import dump_expression
from workers.cli.printing import json_option, print_json, print_rows
from workers.cli.watching import show_plan_graph
from workers.compiling import compile_plan
from workers.parts import agents as load_agents
from workers.parts import llm, registry


@click.group
def tools() -> None:
    """Show the tools of the enabled packs (TURNLOOM_PACKS)."""


@tools.command("list")
@json_option
def list_tools(as_json: bool) -> None:
    """List the tools."""
    rows = [
        {"name": tool.name, "effect": tool.effect, "queue": tool.queue, "description": tool.description}
        for tool in registry().tools.values()
    ]
    print_rows(["name", "effect", "queue", "description"], rows, as_json=as_json)


@tools.command("show")
@click.argument("name")
def show_tool(name: str) -> None:
    """Show a tool with the schemas of its arguments and result, as JSON."""
    tool = registry().get(name)
    shown = ("name", "description", "effect", "queue", "timeout_s", "retries", "inline", "requires_approval")
    facts = {field: getattr(tool, field) for field in shown}
    print_json({**facts, "arguments": tool.input_schema, "result": tool.output_schema})


@click.group
def agents() -> None:
    """Show the agents."""


@agents.command("list")
@json_option
def list_agents(as_json: bool) -> None:
    """List the agents."""
    rows: list[dict[str, Any]] = [profile.model_dump() for profile in load_agents().profiles.values()]
    print_rows(["name", "version", "mode", "tools", "description"], rows, as_json=as_json)


@agents.command("show")
@click.argument("name")
def show_agent(name: str) -> None:
    """Show an agent's profile, as JSON."""
    print_json(load_agents().get(name).model_dump())


@click.command
@click.argument("message")
@click.option("--agent", default=None, help="Agent that plans.  [default: TURNLOOM_DEFAULT_AGENT]")
@click.option("--mode", type=click.Choice(["auto", "plan"]), default=None, help="How to work on it.")
@json_option
def plan(message: str, agent: str | None, mode: Mode | None, as_json: bool) -> None:
    """Show the plan and the canvas for a message. Nothing runs, nothing is recorded."""
    profile = load_agents().get(agent or settings().default_agent)
    drafted = _draft(profile, message, mode)
    if drafted.plan is None:
        raise click.ClickException("; ".join(fault["message"] for fault in drafted.faults))
    placement = profile.placement or settings().placement
    compiled = compile_plan(drafted.plan, registry(), placement, profile.max_parallel).fragments
    canvas = [
        {"after": list(fragment.needs), "canvas": dump_expression(fragment.expression)} for fragment in compiled
    ]
    if as_json:
        print_json({"plan": drafted.plan.model_dump(mode="json", exclude_none=True), "canvas": canvas})
        return
    console = Console()
    console.print(f"[bold]{profile.name}[/] {drafted.plan.action or drafted.plan.reply or ''}", markup=True)
    show_plan_graph(console, [{"id": s.id, "tool": s.tool, "needs": s.needs} for s in _with_needs(drafted)])
    for fragment in canvas:
        console.print_json(data=fragment)


def _draft(profile: AgentProfile, message: str, mode: Mode | None) -> Draft:
    context = PlanningContext(
        agent=profile,
        tools=registry().allowed(profile.tools),
        message=message,
        mode=mode or profile.mode,
        now=datetime.now(UTC),
        timeout_s=settings().llm_timeout_s,
    )
    return draft(context, llm())


def _with_needs(drafted: Draft) -> list[Step]:
    """Return the steps with the needs that references imply."""
    assert drafted.plan is not None
    return [step.model_copy(update={"needs": implied_needs(step)}) for step in drafted.plan.steps]
