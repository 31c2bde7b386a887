"""The result memo keeps results of calls in a conversation, for the time that their tool declares.

While the result of a read is valid, the same call is not made again: the same tool with the same arguments, with
references filled in and defaults added, for the same person. It is not kept past the person's midnight, because a
result about "tomorrow" is about one day. A call with an effect is always made. Its result is kept so that later turns
can speak of what was done.
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
"""A longer result is not kept, because every turn reads the memoised ones."""


def through_memory(
    step: ClaimedStep, tool: Tool, args: dict[str, Any], context: ToolContext, make: Callable[[], Envelope]
) -> FinishedStep:
    """Use the memoised result of the same read if there is one; otherwise make the call and memoise its result."""
    key = input_hash(tool, args, context.user)
    known = None if key is None or _is_always_made(tool) else _look_up(tool, key, context)
    if known is not None:
        return FinishedStep(step.id, step.attempt, "succeeded", result=known, cache="memory", input_hash=key)
    return memoised(ended(step, make()), tool, args, context)


def memoised(finished: FinishedStep, tool: Tool, args: dict[str, Any], context: ToolContext) -> FinishedStep:
    """Return the outcome of a call with the wish to memoise its result, if it succeeded and is not too long."""
    key = input_hash(tool, args, context.user)
    if key is None or finished.status != "succeeded" or len(orjson.dumps(finished.result)) > MAX_RESULT_BYTES:
        return replace(finished, input_hash=key)
    for_s = kept_s(tool, local_now(context.user))
    return replace(finished, input_hash=key, remember={"tool": tool.name, "args": args, "for_s": for_s})


def kept_s(tool: Tool, now: datetime) -> float:
    """Return for how many seconds a tool's result is kept from now on. `now` is in the person's time zone."""
    if tool.effect != "read":
        return tool.remembered_s
    midnight = datetime.combine(now.date() + timedelta(days=1), time(), now.tzinfo)
    return min(tool.remembered_s, midnight.timestamp() - now.timestamp())


def _is_always_made(tool: Tool) -> bool:
    """Whether a call is made even if its result is known. The call of an inline tool costs less than a look-up."""
    return tool.effect != "read" or tool.requires_approval or tool.inline or tool.always_made


def input_hash(tool: Tool, args: dict[str, Any], user: dict[str, Any]) -> str | None:
    """Return a hash that equal calls share; None if the results are not memoised, or the tool refuses the arguments."""
    if tool.remembered_s == 0:
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
