"""Compiling turns a validated plan into the ledger's rows of steps and fragments. Nothing is recorded or sent.

A read-only call that is in the plan twice is made once: the second step is a *copy*, which needs the first one and gets
its outcome. Two calls are the same if their steps differ only in the id. Their needs count too: a read after a write
differs from one before it.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from turnloom.models.contracts.plan import Plan, Step, call_limit_ms, implied_inputs, implied_needs
from turnloom.planner.plan.expressions import dump_expression
from turnloom.planner.plan.graph import Fragment, Node, most_at_once
from turnloom.tools.registry import Registry
from turnloom.workers.turns.layout import layout_of

_TOLD = {"id", "needs", "reason", "parallel_group", "assumes", "phase", "purpose"}
"""Fields of a step that do not affect its call. Its needs count through the implied ones."""


@dataclass(frozen=True)
class Compiled:
    """A plan as the ledger holds it."""

    steps: list[dict[str, Any]]
    """The columns of the steps that have not started early."""
    fragments: list[Fragment]
    """The fragments of these steps."""
    max_parallel: int | None
    """The cap on running steps, if the plan could have more; then each fragment is one step."""


class Columns:
    """The columns of a plan's steps, made one after another. It remembers the plan's calls."""

    def __init__(self, tools: Registry) -> None:
        self._tools = tools
        self._made_by: dict[str, str] = {}

    def of(self, step: Step, position: int) -> dict[str, Any]:
        """Return the columns of the step at this position in its plan."""
        tool = self._tools.get(step.tool)
        original = self._original(step)
        return {
            "id": step.id,
            "position": position,
            "tool": step.tool,
            "args": step.args,
            "needs": [*implied_needs(step), *original],
            "inputs": original or implied_inputs(step),
            "effect": tool.effect,
            "queue": tool.queue,
            "inline": tool.inline or bool(original),
            "critical": step.critical,
            "run_if": step.run_if,
            "fallbacks": [fallback.model_dump() for fallback in step.fallbacks],
            "on_need_error": step.on_need_error,
            "timeout_ms": step.timeout_ms or round(tool.timeout_s * 1000),
            "copy_of": original[0] if original else None,
        }

    def _original(self, step: Step) -> list[str]:
        """Return the earlier step that makes the same call; an empty list if there is none."""
        tool = self._tools.get(step.tool)
        if tool.effect != "read" or tool.requires_approval or not tool.shareable:
            return []
        call = {**step.model_dump(exclude=_TOLD), "needs": sorted(implied_needs(step))}
        made_by = self._made_by.setdefault(json.dumps(call, sort_keys=True), step.id)
        return [] if made_by == step.id else [made_by]


def compile_plan(
    plan: Plan, tools: Registry, placement: str, cap: int | None = None, started: frozenset[str] = frozenset()
) -> Compiled:
    """Compile the steps of a plan that have not started early. `cap`: the agent's cap on running steps."""
    columns = Columns(tools)
    rows = [columns.of(step, position) for position, step in enumerate(plan.steps)]
    ids = {row["id"] for row in rows}  # needed steps of earlier revisions have ended
    nodes = [node_of(row, [need for need in row["needs"] if need in ids]) for row in rows]
    max_parallel = cap if cap is not None and _may_exceed(nodes, cap) else None
    return Compiled(
        steps=[row for row in rows if row["id"] not in started],
        fragments=layout_of(placement, is_capped=max_parallel is not None).fragments(nodes, started),
        max_parallel=max_parallel,
    )


def fragment_rows(compiled: Iterable[Fragment], first: int = 0) -> list[dict[str, Any]]:
    """Return the columns of fragments, numbered from `first`."""
    return [
        {
            "number": number,
            "needs": fragment.needs,
            "steps": fragment.steps,
            "queue": fragment.queue,
            "inline": fragment.inline,
            "expression": dump_expression(fragment.expression),
        }
        for number, fragment in enumerate(compiled, first)
    ]


def node_of(columns: Mapping[str, Any], needs: Iterable[str]) -> Node:
    """Return the node of a step. It has a time limit if its call runs in a process of its own."""
    is_isolated = columns["queue"] == "tools.cpu" and not columns["inline"]
    return Node(
        id=columns["id"],
        needs=tuple(needs),
        queue=columns["queue"],
        tool=columns["tool"],
        effect=columns["effect"],
        inline=columns["inline"],
        limit_ms=call_limit_ms(columns["timeout_ms"], columns["fallbacks"]) if is_isolated else None,
    )


def _may_exceed(nodes: list[Node], cap: int) -> bool:
    return len(nodes) > cap and most_at_once({node.id: node.needs for node in nodes}) > cap
