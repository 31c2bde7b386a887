"""Run one tool call and say how it went.

In: a tool, its arguments as JSON, the context.  Out: an envelope whose `data` Postgres can store.
Always: nothing that a tool raises gets past `run`; only `Unavailable` is tried again, and only inside the deadline.
"""

import math
import re
import traceback
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, TypeVar, get_args

import orjson
from pydantic import BaseModel, ValidationError
from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_attempt, stop_before_delay
from tenacity.wait import wait_exponential_jitter

from models.contracts.envelope import Envelope, ErrorCode, ToolError
from models.errors import NeedsInput, ToolFailed, Unavailable
from models.logging import log
from tools.context import ToolContext
from tools.hooks import OnNote, ToolCall, Veto, consult, hooks
from tools.registry import Tool

MAX_RESULT_BYTES = 1_048_576
"""Largest result, as JSON: it is stored with its step, and read by the steps that refer to it."""

OnRetry = Callable[[int, str, float], None]
"""Told before each further try: tries so far, code of the failure, seconds of the pause."""

Answer = TypeVar("Answer", Envelope, Envelope | None)

_ERROR_CODES = frozenset(get_args(ErrorCode))
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_LONGEST_RETRY_AFTER_S = 86_400.0
_backoff = wait_exponential_jitter(multiplier=0.05, max=1, jitter=0.05)


def run(
    tool: Tool,
    args: dict[str, Any],
    context: ToolContext,
    on_retry: OnRetry | None = None,
    on_note: OnNote | None = None,
) -> Envelope:
    """Check the arguments, ask the hooks, call the tool, check its result, ask the hooks again. Never raises.

    A tool raises `ToolFailed` for what will not get better, `NeedsInput` for what only the user can say, and
    `Unavailable` for what may: it is called again up to `tool.retries` times, after the pause that the exception
    asks for or a short growing one, and not at all where that pause would cross the deadline. A failure that names
    its time in `retry_at` may be called again then, in another claim. A tool with the effect `write` or `spend` may
    raise `Unavailable`, or name a time, only when it has done nothing, or when its backend knows the idempotency key.
    Everything else it raises, exits of the interpreter included, becomes INTERNAL_ERROR.

    In results, NUL and lone surrogates become U+FFFD, because outside text has them and jsonb does not; NaN, infinite
    numbers and whatever else is not JSON are refused, because nothing stands for them.

    The call runs in this thread. Who must stop a tool that blocks runs it in one that can be given up.
    """
    return _guarded(tool, context, lambda: _run(tool, args, context, on_retry, on_note))


def reconcile(tool: Tool, args: dict[str, Any], context: ToolContext, on_note: OnNote | None = None) -> Envelope | None:
    """Ask the backend what became of an earlier call. None: it took no effect, and the call may be made. Never raises.

    A tool that cannot ask is INTERNAL_ERROR, like one whose question fails: then nobody knows. What it says is the
    call's result, and hooks see it as such.
    """

    def ask() -> Envelope | None:
        if tool.reconcile is None:
            return _failure("INTERNAL_ERROR", f"a call of {tool.name} was lost, and it cannot tell what became of it")
        result = tool.reconcile(tool.input.model_validate(args), context)
        if result is None:
            return None
        return _judged(tool, _tool_call(tool, args, context), _checked(tool, result), on_note)

    return _guarded(tool, context, ask)


def refusal(tool: Tool, args: dict[str, Any], context: ToolContext) -> Envelope | None:
    """Return the failure of a call whose arguments the tool refuses; None where it may be made. Never raises."""

    def check() -> Envelope | None:
        query = _query(tool, args)
        return query if isinstance(query, Envelope) else None

    return _guarded(tool, context, check)


def _guarded(tool: Tool, context: ToolContext, call: Callable[[], Answer]) -> Answer | Envelope:
    try:
        return call()
    except BaseException as error:  # noqa: BLE001 - foreign code: sys.exit() in a tool must not end a worker
        # Frames only: the text of a foreign exception may hold the arguments.
        frames = "".join(traceback.format_tb(error.__traceback__))
        log.error("tool.crashed", tool=tool.name, step_id=context.step_id, error=type(error).__name__, frames=frames)
        return _failure("INTERNAL_ERROR", f"{tool.name} broke with {type(error).__name__}; the log has the place")


def _run(
    tool: Tool, args: dict[str, Any], context: ToolContext, on_retry: OnRetry | None, on_note: OnNote | None
) -> Envelope:
    query = _query(tool, args)
    if isinstance(query, Envelope):
        return query
    if not hooks():
        return _made(tool, query, context, on_retry)
    asked = _tool_call(tool, args, context)
    call = consult("before_tool", asked, partial(_changed, tool, asked), on_note)
    if isinstance(call, Veto):
        return _failure("REJECTED", f"{tool.name} was not called: {call.reason}")
    return _judged(tool, call, _made(tool, tool.input.model_validate(call.args), context, on_retry), on_note)


def _tool_call(tool: Tool, args: dict[str, Any], context: ToolContext) -> ToolCall:
    return ToolCall(tool=tool.name, effect=tool.effect, args=args, context=context)


def _changed(tool: Tool, asked: ToolCall, said: object) -> ToolCall | Veto:
    """Take what a hook made of a call: other arguments for it, or a veto."""
    if isinstance(said, Veto):
        return said
    if not isinstance(said, ToolCall):
        raise TypeError("a hook before a tool returns a ToolCall, a Veto or None")
    tool.input.model_validate(said.args)
    if tool.requires_approval and said.args != asked.args:
        return Veto("a hook wants other arguments than those that a person has approved")
    return replace(asked, args=said.args)


def _judged(tool: Tool, call: ToolCall, envelope: Envelope, on_note: OnNote | None) -> Envelope:
    judged = consult("after_tool", envelope, partial(_changed_result, tool, envelope), on_note, call)
    return _failure("REJECTED", f"the result was withheld: {judged.reason}") if isinstance(judged, Veto) else judged


def _changed_result(tool: Tool, envelope: Envelope, said: object) -> Envelope | Veto:
    """Take what a hook made of a result. What has happened cannot be vetoed, nor be said to have failed."""
    if tool.effect != "read" and (isinstance(said, Veto) or (isinstance(said, Envelope) and said.ok != envelope.ok)):
        raise TypeError(f"{tool.name} has an effect: a hook after it may only change the data of its result")
    if isinstance(said, Envelope) and said.ok:
        checked = _checked(tool, said.data)
        if not checked.ok:
            raise ValueError(f"{tool.name} cannot have this result")
        return checked
    if not isinstance(said, Envelope | Veto):
        raise TypeError("a hook after a tool returns an Envelope, a Veto or None")
    return said


def _made(tool: Tool, query: BaseModel, context: ToolContext, on_retry: OnRetry | None) -> Envelope:
    try:
        result = _call(tool, query, context, on_retry)
    except NeedsInput as error:
        return Envelope(ok=False, needs=_storable(error.needs))
    except ToolFailed as error:
        return _failure(error.code, str(error), error.retry_at)
    except Unavailable as error:
        return _failure(error.code, str(error), _retry_at(error), unknown="UPSTREAM_5XX")
    except TimeoutError as error:
        return _failure("TOOL_TIMEOUT", str(error) or f"{tool.name} waited too long")
    return _checked(tool, result)


def _query(tool: Tool, args: dict[str, Any]) -> BaseModel | Envelope:
    """Return the arguments as the input model, or the failure that they are."""
    try:
        return tool.input.model_validate(args)
    except ValidationError as error:
        return _failure("BAD_ARGS", f"{tool.name}: {_faults(error)}")


def _call(tool: Tool, query: BaseModel, context: ToolContext, on_retry: OnRetry | None) -> BaseModel:
    if context.remaining_s == 0:
        raise ToolFailed(f"{tool.name} was not called: its deadline had passed", code="TOOL_TIMEOUT")

    def announce(state: RetryCallState) -> None:
        if on_retry:
            code = _known(_transient(state).code, "UPSTREAM_5XX")
            on_retry(state.attempt_number, code, state.upcoming_sleep)

    retrying = Retrying(
        retry=retry_if_exception_type(Unavailable),
        stop=stop_after_attempt(1 + tool.retries) | stop_before_delay(context.remaining_s),
        wait=_pause,
        before_sleep=announce,
        reraise=True,
    )
    return retrying(tool.call, query, context)


def _pause(state: RetryCallState) -> float:
    asked = _transient(state).retry_after_s
    return _backoff(state) if asked is None else max(0.0, asked)


def _transient(state: RetryCallState) -> Unavailable:
    error = state.outcome.exception() if state.outcome else None
    assert isinstance(error, Unavailable)
    return error


def _checked(tool: Tool, result: object) -> Envelope:
    """Compare a result with the output model and bring it to JSON."""
    try:
        # Through a dump, because an instance alone proves nothing: `model_construct` checks no field.
        plain = result.model_dump(warnings="error") if isinstance(result, BaseModel) else result
        # Before the JSON dump, which writes null for NaN, and after it, because it makes text of other types.
        checked = tool.output.model_validate(_storable(plain), by_name=True)
        data = _storable(checked.model_dump(mode="json"))
        size = len(orjson.dumps(data))
    except ValidationError as error:
        return _failure("INTERNAL_ERROR", f"{tool.name} returned what its output model refuses: {_faults(error)}")
    except (ValueError, TypeError, RecursionError) as error:
        return _failure("INTERNAL_ERROR", f"{tool.name} returned what JSON cannot hold: {error}")
    if size > MAX_RESULT_BYTES:
        message = f"{tool.name} returned {size} bytes of JSON; {MAX_RESULT_BYTES} are allowed: return less, or a link"
        return _failure("INTERNAL_ERROR", message)
    return Envelope(ok=True, data=data)


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return _UNSTORABLE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_storable(key): _storable(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_storable(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} is not a number in JSON")
    return value


def _faults(error: ValidationError) -> str:
    faults = error.errors(include_url=False, include_input=False, include_context=False)
    return "; ".join(f"{'.'.join(map(str, fault['loc'])) or 'arguments'}: {fault['msg']}" for fault in faults)


def _failure(
    code: str, message: str, retry_at: datetime | None = None, unknown: ErrorCode = "INTERNAL_ERROR"
) -> Envelope:
    error = ToolError(code=_known(code, unknown), message=_storable(message), retry_at=retry_at)
    return Envelope(ok=False, error=error)


def _known(code: str, unknown: ErrorCode) -> ErrorCode:
    return code if code in _ERROR_CODES else unknown  # type: ignore[return-value]


def _retry_at(error: Unavailable) -> datetime | None:
    if error.retry_after_s is None:
        return None
    return datetime.now(UTC) + timedelta(seconds=min(max(0.0, error.retry_after_s), _LONGEST_RETRY_AFTER_S))
