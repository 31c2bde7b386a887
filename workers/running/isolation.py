"""Isolation runs calls in separate processes, which end if a call does not return.

A tool declared with `isolation="process"` runs in a child process of the `tools.cpu` pool, one call per message, and
the message says how long the child may take. If a call only overruns its deadline, the child gives it up and ends, and
the call with it. If a call blocks the whole process, the parent kills it. Meanwhile the parent renews the step's lease:
a child that holds the interpreter for a while is not lost.
"""

import os
import sys
from typing import Any
from uuid import UUID

import structlog
from billiard.exceptions import WorkerLostError
from celery.signals import worker_process_init
from celery.worker import state

from turnloom.models.connections.database import forget_connections, statement
from turnloom.models.ledger import recovery
from turnloom.models.runtime.metrics import hand_on
from turnloom.workers.broker.task_request import TaskRequest
from turnloom.workers.dispatch import send

REAPING_S = 3
"""Extra time of a child beyond its call's own, to claim the step and to record its outcome."""

_is_child = False


@worker_process_init.connect
def _become_child(**_: Any) -> None:
    """Open the child's own connections, and drop its parent's work."""
    global _is_child  # noqa: PLW0603 - a fact about this process, set once
    _is_child = True
    forget_connections()
    structlog.contextvars.clear_contextvars()


def is_child() -> bool:
    """Return whether this process belongs to a pool."""
    return _is_child


def end_process() -> None:
    """End this process if it belongs to a pool, with everything that still runs in it. The pool starts another."""
    if _is_child:
        hand_on()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def renew_leases() -> None:
    """Renew the leases of the steps that child processes run."""
    steps = [request for request in tuple(state.active_requests) if isinstance(request, StepRequest)]
    held = [(UUID(each.args[0]), _holder(each)) for each in steps if str(each.worker_pid) != str(os.getpid())]
    if held:
        with statement() as db:
            recovery.renew_held(db, held, recovery.LEASE_MS)


class StepRequest(TaskRequest):
    """A message with steps, as the parent process sees it."""

    def on_timeout(self, soft: bool, timeout: float) -> None:
        """Report that the child was killed because it took too long."""
        super().on_timeout(soft, timeout)
        if not soft:
            self._say_gone(overran=True)

    def on_failure(self, exc_info: Any, send_failed_event: bool = True, return_ok: bool = False) -> None:
        """Report that the child is gone, if that is the failure."""
        super().on_failure(exc_info, send_failed_event, return_ok)
        if isinstance(getattr(exc_info.exception, "exc", exc_info.exception), WorkerLostError):
            self._say_gone(overran=False)

    def _say_gone(self, *, overran: bool) -> None:
        send("recover_from", UUID(self.args[0]), _holder(self), overran, queue="maintenance")


def _holder(request: TaskRequest) -> str:
    return f"{request.hostname}/{request.worker_pid}"
