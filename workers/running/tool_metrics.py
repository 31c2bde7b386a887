"""Tool metrics count in memory how calls of tools end; every two seconds a thread hands on the new counts."""

from typing import Any

from celery.signals import worker_process_init, worker_ready, worker_shutdown

from turnloom.models.ledger.steps import FinishedStep
from turnloom.models.runtime.counters import counts
from turnloom.models.runtime.daemon import Daemon
from turnloom.models.runtime.metrics import HANDED_ON_S, hand_on
from turnloom.tools.registry import Tool
from turnloom.workers.running.outcomes import Outcome


def count_call(tool: Tool, outcome: Outcome, took_s: float) -> None:
    """Count a call that has ended, but not one that waits for a person, or whose backend is asked again later."""
    if not isinstance(outcome, FinishedStep) or outcome.ask_again:
        return
    count_end(tool.name, outcome)
    if outcome.cache is not None:
        counts().add("turnloom_tool_cached_total", tool.name, outcome.cache)
    else:
        counts().observe(took_s, "turnloom_tool_duration_seconds", tool.name)
    for field in outcome.result["needs"] if outcome.status == "needs_input" else ():
        # Field names that a tool invents would be series without end.
        counts().add("turnloom_tool_missing_fields_total", tool.name, field if field in tool.asks else "undeclared")


def count_given_up(tool: str, outcome: FinishedStep, took_s: float) -> None:
    """Count a call that did not return in time."""
    count_end(tool, outcome)
    counts().observe(took_s, "turnloom_tool_duration_seconds", tool)


def count_end(tool: str, outcome: FinishedStep) -> None:
    """Count how a call has ended, but not its duration."""
    counts().add("turnloom_tool_calls_total", tool, outcome.status)
    if outcome.error is not None:
        counts().add("turnloom_tool_errors_total", tool, str(outcome.error["code"]))


def count_retry(tool: str, code: str) -> None:
    """Count a further try."""
    counts().add("turnloom_tool_retries_total", tool, code)


_handing_on: list[Daemon] = []


@worker_ready.connect
@worker_process_init.connect
def _start(**_: Any) -> None:
    # Not the heartbeat's thread: leases must not wait for a Redis that hangs.
    _handing_on.append(Daemon("metrics", hand_on, every_s=HANDED_ON_S).start())


@worker_shutdown.connect
def _stop(**_: Any) -> None:
    for daemon in _handing_on:
        daemon.ask_to_stop()
    hand_on()
