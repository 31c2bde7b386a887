"""Show agents, and draft a plan without running it: `turnloom agents`, `turnloom plan`."""

from typing import Any

import click
from rich.console import Console

from turnloom.models.contracts.plan import Step, implied_needs
from turnloom.models.contracts.turn import Mode
from turnloom.models.runtime.local_time import local_now
from turnloom.models.runtime.settings import settings
from turnloom.planner.agents import AgentProfile
from turnloom.planner.draft.context import PlanningContext
from turnloom.planner.draft.drafting import PlanDraft, draft
from turnloom.planner.llm.hooked_model import with_hooks
from turnloom.planner.plan.expressions import dump_expression
from turnloom.planner.tenant_texts import Tailored
from turnloom.tools.command_output import json_anyway, json_option, print_json, print_rows
from turnloom.workers.cli.overrides import add_changing, for_tenant, in_effect
from turnloom.workers.cli.turn_display import show_plan_graph
from turnloom.workers.compiling import compile_plan
from turnloom.workers.turns.process_parts import llm, registry


@click.group
def agents() -> None:
    """Show the agents, and replace them by a tenant's own."""


@agents.command("list")
@for_tenant
@json_option
def list_agents(tenant_name: str | None, as_json: bool) -> None:
    """List the agents."""
    profiles = in_effect(tenant_name)[1].agents.profiles.values()
    rows: list[dict[str, Any]] = [{**profile.model_dump(mode="json"), "source": profile.source} for profile in profiles]
    print_rows(["name", "source", "mode", "tools", "description"], rows, as_json=as_json)


@agents.command("show")
@click.argument("name")
@json_anyway
@for_tenant
def show_agent(name: str, tenant_name: str | None) -> None:
    """Show an agent's profile, as JSON."""
    print_json(in_effect(tenant_name)[1].agents.get(name).model_dump(mode="json"))


add_changing(agents, "agents/")


@click.command
@click.argument("message")
@click.option("--agent", default=None, help="Agent that plans.  [default: TURNLOOM_DEFAULT_AGENT]")
@click.option("--mode", type=click.Choice(["auto", "plan"]), default=None, help="Mode to plan in.")
@for_tenant
@json_option
def plan(message: str, agent: str | None, mode: Mode | None, tenant_name: str | None, as_json: bool) -> None:
    """Show the plan and the canvas for a message. This runs and records nothing."""
    tailored = in_effect(tenant_name)[1]
    profile = tailored.agents.get(agent or settings().default_agent)
    drafted = _draft(profile, tailored, message, mode)
    if drafted.plan is None:
        raise click.ClickException("; ".join(fault["message"] for fault in drafted.faults))
    placement = profile.placement or settings().placement
    compiled = compile_plan(drafted.plan, registry(), placement, profile.max_parallel).fragments
    canvas = [{"after": list(fragment.needs), "canvas": dump_expression(fragment.expression)} for fragment in compiled]
    if as_json:
        print_json({"plan": drafted.plan.model_dump(mode="json", exclude_none=True), "canvas": canvas})
        return
    console = Console()
    console.print(f"[bold]{profile.name}[/] {drafted.plan.action or drafted.plan.reply or ''}", markup=True)
    show_plan_graph(console, [{"id": s.id, "tool": s.tool, "needs": s.needs} for s in _with_needs(drafted)])
    for fragment in canvas:
        console.print_json(data=fragment)


def _draft(profile: AgentProfile, tailored: Tailored, message: str, mode: Mode | None) -> PlanDraft:
    tools = registry().allowed(profile.tools)
    context = PlanningContext(
        agent=profile,
        tools=tools,
        prompts=tailored.prompts,
        playbooks=tailored.playbooks.for_agent(profile.name, tools),
        message=message,
        mode=mode or profile.mode,
        now=local_now({}),
        timeout_s=settings().llm_timeout_s,
    )
    return draft(context, with_hooks(llm(), lambda _: None))


def _with_needs(drafted: PlanDraft) -> list[Step]:
    """Return the steps with the needs that references imply."""
    assert drafted.plan is not None
    return [step.model_copy(update={"needs": implied_needs(step)}) for step in drafted.plan.steps]
