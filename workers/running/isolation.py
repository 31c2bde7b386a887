"""Isolation: calls in processes of their own, which end with a call that does not return.

A tool that is declared `isolation="process"` runs in a child of the pool of `tools.cpu`, one call a message, and the
message says how long the child may take. A call that only overruns its deadline is given up by the child itself, which
ends then, and the call with it. One that lets nothing else run in its process is ended by the parent, which keeps the
step's lease meanwhile: a child that holds the interpreter for a while is not a lost one.
"""

import os
import sys
from typing import Any
from uuid import UUID

import structlog
from billiard.exceptions import WorkerLostError
from celery.signals import worker_process_init
from celery.worker import state

from models.connections.database import forget_connections, statement
from models.ledger import recovery
from models.runtime.metrics import hand_on
from workers.broker.task_request import TaskRequest
from workers.dispatch import send

REAPING_S = 3
"""What a child gets beyond a call's own time, to claim the step and to record how it ended."""

_is_child = False


@worker_process_init.connect
def _become_child(**_: Any) -> None:
    """Open connections of its own, and forget what its parent was at."""
    global _is_child  # noqa: PLW0603 - a fact about this process, set once
    _is_child = True
    forget_connections()
    structlog.contextvars.clear_contextvars()


def is_child() -> bool:
    """Tell whether this process is one of a pool's."""
    return _is_child


def end_process() -> None:
    """End this process, if it is one of a pool's, and whatever still runs in it; the pool starts another."""
    if _is_child:
        hand_on()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def renew_leases() -> None:
    """Renew the leases of what the children of this process run."""
    steps = [request for request in tuple(state.active_requests) if isinstance(request, StepRequest)]
    held = [(UUID(each.args[0]), _holder(each)) for each in steps if str(each.worker_pid) != str(os.getpid())]
    if held:
        with statement() as db:
            recovery.renew_held(db, held, recovery.LEASE_MS)


class StepRequest(TaskRequest):
    """A message with steps, as the parent sees it."""

    def on_timeout(self, soft: bool, timeout: float) -> None:
        """Say that the child was ended because it took too long."""
        super().on_timeout(soft, timeout)
        if not soft:
            self._say_gone(overran=True)

    def on_failure(self, exc_info: Any, send_failed_event: bool = True, return_ok: bool = False) -> None:
        """Say that the child is gone, if that is the failure."""
        super().on_failure(exc_info, send_failed_event, return_ok)
        if isinstance(getattr(exc_info.exception, "exc", exc_info.exception), WorkerLostError):
            self._say_gone(overran=False)

    def _say_gone(self, *, overran: bool) -> None:
        send("recover_from", UUID(self.args[0]), _holder(self), overran, queue="maintenance")


def _holder(request: TaskRequest) -> str:
    return f"{request.hostname}/{request.worker_pid}"
