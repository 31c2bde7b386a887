"""Tools clean up after their lost calls."""

from dataclasses import replace

import pytest

from turnloom.tools.registry import Registry, load_registry
from turnloom.workers.broker.app import app
from turnloom.workers.upkeep.cleaning import clean_up


def test_each_tool_cleans_up_even_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error of one tool is logged, and the next one is called."""
    cleaned = []

    def breaks() -> None:
        cleaned.append("a")
        raise RuntimeError("no")

    echo = load_registry(["sim"]).get("sim.echo")
    tools = {
        "a": replace(echo, clean_up=breaks),
        "b": echo,
        "c": replace(echo, clean_up=lambda: cleaned.append("c")),
    }
    monkeypatch.setattr("turnloom.workers.upkeep.cleaning.registry", lambda: Registry(tools))

    clean_up()

    assert cleaned == ["a", "c"]


def test_beat_sends_known_tasks_to_known_queues() -> None:
    """Each entry of the schedule is a task that workers know, on one of our queues."""
    app.loader.import_default_modules()
    queues = {queue.name for queue in app.conf.task_queues}

    for entry in app.conf.beat_schedule.values():
        assert entry["task"] in app.tasks
        assert entry["options"]["queue"] in queues
