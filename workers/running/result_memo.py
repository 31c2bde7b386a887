"""The result memo keeps results of calls in a conversation, so that they are not fetched again while valid.

It holds only reads, for the time that their tool declares. The same call is the same tool with the same arguments, with
references filled in and defaults added, for the same person. No result is kept past the person's midnight, because a
result about "tomorrow" is about one day.
"""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, time, timedelta
from typing import Any

import orjson
from pydantic import ValidationError

from turnloom.models.connections.database import statement
from turnloom.models.contracts.envelope import Envelope
from turnloom.models.errors import Unavailable
from turnloom.models.ledger import memory
from turnloom.models.ledger.steps import ClaimedStep, FinishedStep
from turnloom.models.runtime.local_time import local_now
from turnloom.models.runtime.logging import log
from turnloom.tools.context import ToolContext
from turnloom.tools.registry import Tool
from turnloom.workers.running.outcomes import ended

MAX_RESULT_BYTES = 65_536
"""A longer result is fetched again, because every turn reads the memoised ones."""


def through_memory(
    step: ClaimedStep, tool: Tool, args: dict[str, Any], context: ToolContext, make: Callable[[], Envelope]
) -> FinishedStep:
    """Use the memoised result of the same call if there is one; otherwise make the call and memoise its result."""
    key = input_hash(tool, args, context.user)
    if key is None:
        return ended(step, make())
    # An inline tool's call costs less than a look-up.
    known = None if tool.inline or tool.always_made else _look_up(tool, key, context)
    if known is not None:
        return FinishedStep(step.id, step.attempt, "succeeded", result=known, cache="memory", input_hash=key)
    return _to_be_remembered(ended(step, make()), tool, args, key, context)


def input_hash(tool: Tool, args: dict[str, Any], user: dict[str, Any]) -> str | None:
    """Return a hash that equal calls share; None if the results are not memoised, or the tool refuses the arguments."""
    if tool.remember_s is None or tool.effect != "read" or tool.requires_approval:
        return None
    try:
        full = tool.input.model_validate(args).model_dump(mode="json")
    except ValidationError:
        return None
    canonical = orjson.dumps([tool.name, full, user], option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(canonical).hexdigest()[:40]


def _look_up(tool: Tool, key: str, context: ToolContext) -> Any:
    try:
        with statement() as db:
            known = memory.find(db, context.tenant_id, context.conversation_id, tool.name, key)
        if known is not None:
            tool.output.model_validate(known, by_name=True)
    except Unavailable as error:
        log.warning("memory.not_read", step_id=context.step_id, error=error.code)
        return None
    except ValidationError:
        return None  # it is from an earlier release of the tool
    return known


def _to_be_remembered(
    finished: FinishedStep, tool: Tool, args: dict[str, Any], key: str, context: ToolContext
) -> FinishedStep:
    holds_s = min(tool.remember_s or 0.0, _left_of_day_s(context.user))
    if finished.status != "succeeded" or len(orjson.dumps(finished.result)) > MAX_RESULT_BYTES:
        return replace(finished, input_hash=key)
    return replace(finished, input_hash=key, remember={"tool": tool.name, "args": args, "for_s": holds_s})


def _left_of_day_s(user: dict[str, Any]) -> float:
    now = local_now(user)
    midnight = datetime.combine(now.date() + timedelta(days=1), time(), now.tzinfo)
    return midnight.timestamp() - now.timestamp()
