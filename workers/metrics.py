"""Metrics: count how calls of tools end. In memory; every two seconds a thread hands on what is new."""

import threading
from typing import Any

from celery.signals import worker_process_init, worker_ready, worker_shutdown

from models.ledger.steps import FinishedStep
from models.metrics import counts
from tools.registry import Tool
from workers.outcomes import Outcome

INTERVAL_S = 2.0


def count_call(tool: Tool, outcome: Outcome, took_s: float) -> None:
    """Count a call that has ended; not one that waits for a person or for its time."""
    if not isinstance(outcome, FinishedStep):
        return
    _count_end(tool.name, outcome)
    if outcome.cache is not None:
        counts().add("turnloom_tool_cached_total", tool.name, outcome.cache)
    else:
        counts().observe(took_s, "turnloom_tool_duration_seconds", tool.name)
    for field in outcome.result["needs"] if outcome.status == "needs_input" else ():
        # Names that a tool makes up as it goes would be series without end.
        counts().add("turnloom_tool_missing_fields_total", tool.name, field if field in tool.asks else "undeclared")


def count_given_up(tool: str, outcome: FinishedStep, took_s: float) -> None:
    """Count a call that did not return in its time."""
    _count_end(tool, outcome)
    counts().observe(took_s, "turnloom_tool_duration_seconds", tool)


def count_retry(tool: str, code: str) -> None:
    """Count a further try."""
    counts().add("turnloom_tool_retries_total", tool, code)


def _count_end(tool: str, outcome: FinishedStep) -> None:
    counts().add("turnloom_tool_calls_total", tool, outcome.status)
    if outcome.error is not None:
        counts().add("turnloom_tool_errors_total", tool, str(outcome.error["code"]))


def _hand_on() -> None:
    while not _stopping.wait(INTERVAL_S):
        counts().hand_on()


_stopping = threading.Event()


@worker_ready.connect
@worker_process_init.connect
def _start(**_: Any) -> None:
    # Not the heartbeat's thread: leases must not wait for a Redis that hangs.
    threading.Thread(target=_hand_on, name="metrics", daemon=True).start()


@worker_shutdown.connect
def _stop(**_: Any) -> None:
    _stopping.set()
    counts().hand_on()
