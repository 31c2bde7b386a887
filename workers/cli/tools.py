"""Show the tools that plans may call, and begin a tool pack: `turnloom tools`."""

import click

from turnloom.tools.command_output import json_anyway, json_option, print_json, print_rows
from turnloom.tools.enabled_tools import enabled_tools
from turnloom.workers.cli.tool_project import new_pack
from turnloom.workers.cli.tool_stats import stats


@click.group
def tools() -> None:
    """Show the tools of the enabled packs (TURNLOOM_PACKS), or begin a pack of your own."""


@tools.command("list")
@json_option
def list_tools(as_json: bool) -> None:
    """List the tools."""
    rows = [
        {"name": tool.name, "effect": tool.effect, "queue": tool.queue, "description": tool.description}
        for tool in enabled_tools().tools.values()
    ]
    print_rows(["name", "effect", "queue", "description"], rows, as_json=as_json)


@tools.command("show")
@click.argument("name")
@json_anyway
def show_tool(name: str) -> None:
    """Show a tool with the schemas of its arguments and result, as JSON."""
    tool = enabled_tools().get(name)
    shown = ("name", "description", "effect", "queue", "timeout_s", "retries", "inline", "requires_approval")
    facts = {field: getattr(tool, field) for field in shown}
    print_json({**facts, "arguments": tool.input_schema, "result": tool.output_schema})


tools.add_command(new_pack)
tools.add_command(stats)
