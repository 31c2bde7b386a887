"""The circuit breaker: if an outside service keeps failing, no worker calls it for a while.

Five failures in a row open the circuit of a service: calls of it fail with CIRCUIT_OPEN at once. After
`TURNLOOM_BREAKER_PAUSE_S` one trial call is let through, while all others still fail. If the service answers the trial,
the circuit closes. If the trial fails, the next pause begins. If the trial reports nothing, because its process was
killed, another call may try once the trial's time is over. The clock is that of Redis.

If a service has not answered within the last pause, the calls under way plus its failures in a row never exceed five.
Other calls wait for the first answer. So a hundred simultaneous calls reach a dead service five times, not a hundred.

A circuit belongs to the user's account with the service. If there is no account, it belongs to the service and holds
for everybody. A service fails if it cannot be reached, breaks off, answers with an error of its own, or does not
answer in time. A refusal is an answer.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal, TypeVar
from uuid import uuid4

from pydantic import BaseModel

from turnloom.models.connections.redis import run_script
from turnloom.models.errors import ToolFailed, TurnloomError, Unavailable
from turnloom.models.runtime.logging import log
from turnloom.models.runtime.settings import settings
from turnloom.tools.context import ToolContext
from turnloom.tools.registry import Tool

_MOST_FAILURES = 5
_PATIENCE_S = 1.0
"""A timeout after a shorter wait says nothing about the service."""
_LEEWAY_S = 1.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.005, 0.2

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Circuit:
    """The circuit that all calls of one service, or of a user's account with it, share."""

    id: str
    service: str
    """The name of the service, for messages."""


def refuse(tool: Tool, query: BaseModel, context: ToolContext) -> None:
    """Check that the circuit of a call is not open.

    Raises:
        ToolFailed: CIRCUIT_OPEN.
    """
    circuit = _circuit_of(tool, query, context)
    if circuit is not None and circuit.id in (left_s := open_circuits()):
        raise _open(circuit, left_s[circuit.id])


def through(tool: Tool, query: BaseModel, context: ToolContext, call: Callable[[], Result]) -> Result:
    """Make a tool's call as `guarded` does, with the circuit of the tool's integration, if it declares one.

    Raises:
        ToolFailed: CIRCUIT_OPEN. Exceptions of the call pass through.
    """
    circuit = _circuit_of(tool, query, context)
    return call() if circuit is None else guarded(circuit, context.deadline, call)


def guarded(circuit: Circuit, until: float, call: Callable[[], Result]) -> Result:
    """Call a service unless its circuit is open, and record whether the service failed.

    For a tool that calls several services, or the accounts of several users. `until` is the end of the call on this
    process's monotonic clock.

    Raises:
        ToolFailed: CIRCUIT_OPEN. Exceptions of the call pass through.
        TimeoutError: `until` came while the call waited for the answers of others.
    """
    name = uuid4().hex
    verdict, failures = _admitted(circuit, name, until)
    began = time.monotonic()
    try:
        result = call()
    except BaseException as error:
        heard = _heard(error, time.monotonic() - began)
        if heard == "failed" or verdict != "closed" or (heard == "answered" and failures):
            _tell(heard, circuit, name)
        raise
    if verdict != "closed" or failures:
        _tell("answered", circuit, name)
    return result


def _circuit_of(tool: Tool, query: BaseModel, context: ToolContext) -> Circuit | None:
    """Return the circuit of a call; None if it uses no outside service."""
    # Ask only once: for a hotel, this is a query to the database.
    service = tool.integration_of(query, context)
    if service is None:
        return None
    account = context.accounts.get(service)
    return Circuit(service if account is None else str(account.id), service)


def open_circuits() -> dict[str, float]:
    """Return the open circuits with the seconds until a call may try again. Empty if Redis is unavailable."""
    try:
        listed = run_script("circuit", _keys(""), ["list", ""])
    except Unavailable:
        return {}
    return {listed[place].decode(): listed[place + 1] / 1_000 for place in range(0, len(listed), 2)}


def _admitted(circuit: Circuit, name: str, until: float) -> tuple[str, int]:
    """Wait until a call may be made. Return its kind and the failures in a row so far.

    The kinds: `closed`, the service has answered lately; `first`, it has not; `trial`, the one call after a pause.
    """
    pause_s = _FIRST_PAUSE_S
    while True:
        left_s = max(0.0, until - time.monotonic())
        verdict, number = _script("ask", circuit.id, name, left_s + _LEEWAY_S)
        if verdict == "open":
            raise _open(circuit, number / 1_000)
        if verdict != "wait":
            return verdict, number
        if left_s == 0:
            raise TimeoutError(f"{circuit.service} was not called: earlier calls were still waiting for its answer")
        time.sleep(min(pause_s, left_s))
        pause_s = min(pause_s * 1.5, _LONGEST_PAUSE_S)


def _tell(heard: str, circuit: Circuit, name: str) -> None:
    said, _ = _script(heard, circuit.id, name)
    if said != "noted":
        log.warning(f"circuit.{said}", circuit=circuit.id, service=circuit.service)


def _script(said: str, circuit: str, name: str, time_s: float = 0.0) -> tuple[str, int]:
    pause_ms = int(settings().breaker_pause_s * 1_000)
    args = (said, circuit, name, pause_ms, int(time_s * 1_000), _MOST_FAILURES)
    try:
        verdict, number = run_script("circuit", _keys(circuit), args)
    except Unavailable:
        return ("closed" if said == "ask" else "noted"), 0
    return verdict.decode(), number


def _keys(circuit: str) -> list[str]:
    own = f"turnloom:circuit:{circuit}"
    return ["turnloom:circuits", f"{own}:failures", f"{own}:answered", f"{own}:calls"]


def _heard(error: BaseException, waited_s: float) -> Literal["failed", "answered", "unheard"]:
    """Return what a failed call says about the service: it failed, it answered, or nothing (`unheard`)."""
    code = error.code if isinstance(error, TurnloomError) else None
    if code == "TOOL_TIMEOUT" or isinstance(error, TimeoutError):
        return "failed" if waited_s >= _PATIENCE_S else "unheard"
    if code in ("RATE_LIMITED", "UPSTREAM_4XX"):
        return "answered"
    if code == "UPSTREAM_5XX" or isinstance(error, Unavailable | OSError):
        return "failed"
    return "unheard"


def _open(circuit: Circuit, left_s: float) -> ToolFailed:
    retry_at = datetime.now(UTC) + timedelta(seconds=left_s)
    return CircuitOpen(f"{circuit.service} keeps failing, so it is not called for now", retry_at)


class CircuitOpen(ToolFailed):
    """A call that was not made because the circuit of its service is open. The step fails at once and does not wait."""

    def __init__(self, message: str, until: datetime) -> None:
        super().__init__(message, code="CIRCUIT_OPEN")
        self.until = until
