"""The canvases that we build contain only constructs that are sound in Celery 5.7."""

from itertools import pairwise
from typing import Any
from uuid import UUID, uuid4

from celery import chord, group
from celery.canvas import Signature, _chain
from hypothesis import given, settings

from tests.planner.plan.test_graph import QUEUES, dags, nodes
from turnloom.planner.plan.expressions import Expression, load_expression
from turnloom.planner.plan.graph import fragments
from turnloom.workers.broker.canvas import build


def canvas_of(turn_id: UUID, generation: int, expression: Expression) -> Signature:
    (canvas,) = build(turn_id, generation, [expression], 1)
    return canvas


def parts_of(canvas: Signature) -> list[Signature]:
    """List the parts that a canvas runs in sequence. Celery has already made a chord of each group with a successor."""
    if isinstance(canvas, _chain):
        return [part for task in canvas.tasks for part in parts_of(task)]
    if isinstance(canvas, chord):
        return [group(canvas.tasks), *(parts_of(canvas.body) if canvas.body else [])]
    return [canvas]


def faults(canvas: Signature, *, nested: bool = False) -> list[str]:
    """Name the unsound constructs in a canvas."""
    parts = parts_of(canvas)
    kinds = [isinstance(part, group) for part in parts]
    found = []
    if any(first and second for first, second in pairwise(kinds)):
        found.append("two groups in a row: a chord whose body is a group")
    if kinds[-1] and (nested or any(kinds[:-1])):
        found.append("ends in a group, inside a header or after a chord")
    for part in parts:
        if isinstance(part, group):
            found += [fault for inner in part.tasks for fault in faults(inner, nested=True)]
    return found


def plain_tasks(canvas: Signature) -> list[Signature]:
    return [
        task
        for part in parts_of(canvas)
        for task in (
            [inner for each in part.tasks for inner in plain_tasks(each)] if isinstance(part, group) else [part]
        )
    ]


@given(dags())
@settings(max_examples=200)
def test_no_unsound_construct_is_built(needs: dict[str, tuple[str, ...]]) -> None:
    """For any plan, adjacent groups are joined and no chain in a header ends in a group."""
    for fragment in fragments(nodes(needs, QUEUES), 16):
        assert faults(canvas_of(uuid4(), 1, fragment.expression)) == []


@given(dags())
@settings(max_examples=50)
def test_messages_carry_ids_only(needs: dict[str, tuple[str, ...]]) -> None:
    """Messages carry no arguments of tools and no results. Each step is in exactly one message, on its own queue."""
    turn_id = uuid4()
    tasks = [
        task
        for fragment in fragments(nodes(needs, QUEUES), 16)
        for task in plain_tasks(canvas_of(turn_id, 3, fragment.expression))
        if task.task == "run_steps"
    ]

    assert sorted(step for task in tasks for lane in task.args[1] for step in lane) == sorted(needs)
    assert all(task.args[0] == str(turn_id) and task.args[2] == 3 and task.immutable for task in tasks)


def test_a_task_has_its_tools_name() -> None:
    """Operators see the tool's name and the number of further steps."""
    expression: dict[str, Any] = {"lane": ["a", "b"], "queue": "tools.io", "label": "pms.get_availability +1"}

    task = canvas_of(uuid4(), 1, load_expression(expression))

    assert (task.options["shadow"], task.options["queue"]) == ("pms.get_availability +1", "tools.io")
