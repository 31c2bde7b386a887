"""Faults of tool calls: in a stack with a fault file, calls are late, fail, or return what no tool may return.

A fault strikes a call with all its tries. It takes the place of the service: guards, retries, `reconcile` and hooks
around the call work as if the service had failed.
"""

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from pydantic import BaseModel

from turnloom.models.contracts.fault_file import FaultError, ToolFault
from turnloom.models.errors import ToolFailed, Unavailable
from turnloom.models.runtime.fault_folder import injected_faults
from turnloom.models.runtime.logging import log
from turnloom.tools.context import ToolContext
from turnloom.tools.registry import Tool

Function = Callable[[Any, ToolContext], BaseModel]
"""A function that makes a call of a tool with its arguments, read by its input model."""

_PASSING = frozenset({"RATE_LIMITED", "UPSTREAM_5XX"})
"""Codes of failures that may pass: the call is tried again."""


def function_of(tool: Tool, context: ToolContext) -> Function:
    """Return the function that makes a call: the tool's own, or one in which things go wrong."""
    folder = injected_faults()
    if folder is None:
        return tool.call
    turn = context.turn_id.hex
    struck = {
        place: fault
        for place, fault in folder.file.matching(tool.name)
        if folder.strikes(fault, f"faults-{place}", turn)
    }
    if not struck:
        return tool.call
    ids = {"turn_id": str(context.turn_id), "step_id": context.step_id}
    log.warning("call.struck", tool=tool.name, **ids, faults=list(struck))
    return partial(_go_wrong, tool, list(struck.values()))


def _go_wrong(tool: Tool, struck: Sequence[ToolFault], query: BaseModel, context: ToolContext) -> BaseModel:
    """Make a call late, fail in its place, or make it and return what its output model refuses.

    Raises:
        ToolFailed, Unavailable, TimeoutError: as the faults say.
    """
    _wait(sum(fault.delay_ms or 0 for fault in struck) / 1000, tool, context)
    failing = next((fault for fault in struck if fault.error or fault.malformed), None)
    if failing is not None and failing.error is not None:
        raise _failure(failing.error)
    result = tool.call(query, context)
    return result if failing is None else object()  # type: ignore[return-value]  # it is meant to be none


def _wait(delay_s: float, tool: Tool, context: ToolContext) -> None:
    left_s = context.remaining_s
    time.sleep(min(delay_s, left_s))
    if delay_s > left_s:
        raise TimeoutError(f"{tool.name} was made {delay_s:g} s late by a fault file")


def _failure(error: FaultError) -> Exception:
    kind = Unavailable if error.code in _PASSING else ToolFailed
    return kind(error.message, code=error.code)
