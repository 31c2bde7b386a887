"""Run one tool call and say how it went.

In: a tool, its arguments as JSON, the context.  Out: an envelope whose `data` Postgres can store.
Always: nothing that a tool raises gets past `run`; only `Unavailable` is tried again, and only inside the deadline.
"""

import traceback
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_attempt, stop_before_delay
from tenacity.wait import wait_exponential_jitter

from models.contracts.envelope import Envelope
from models.errors import NeedsInput, OutcomeUnknown, ToolFailed, Unavailable
from models.logging import log
from tools.context import ToolContext
from tools.enveloping import checked, concealed, failure, faults, known, storable
from tools.guards import Guards, access
from tools.guards.breaker import CircuitOpen
from tools.hooks import OnNote, ToolCall, Veto, consult, hooks
from tools.registry import Tool

OnRetry = Callable[[int, str, float], None]
"""Told before each further try: tries so far, code of the failure, seconds of the pause."""

Answer = TypeVar("Answer", Envelope, Envelope | None)
Result = TypeVar("Result")

_LONGEST_RETRY_AFTER_S = 86_400.0
_backoff = wait_exponential_jitter(multiplier=0.05, max=1, jitter=0.05)


def run(
    tool: Tool,
    args: dict[str, Any],
    context: ToolContext,
    on_retry: OnRetry | None = None,
    on_note: OnNote | None = None,
    guards: Guards | None = None,
) -> Envelope:
    """Check the arguments, ask hooks and guards, call the tool, check its result, ask the hooks again. Never raises.

    A tool raises `ToolFailed` for what will not get better, `NeedsInput` for what only the user can say, and
    `Unavailable` for what may: it is called again up to `tool.retries` times, after the pause that the exception
    asks for or a short growing one, and not at all where that pause would cross the deadline. A failure that names
    its time in `retry_at` may be called again then, in another claim. A tool with the effect `write` or `spend` may
    raise `Unavailable` or `TimeoutError`, or name a time, only when it has done nothing, or when its backend knows the
    idempotency key: then that is asked, where the last try failed too, before the call counts as failed. Where a tool
    cannot know what it has done, it raises `OutcomeUnknown`, and its step ends so.
    Everything else it raises, exits of the interpreter included, becomes INTERNAL_ERROR.

    In results, NUL and lone surrogates become U+FFFD, because outside text has them and jsonb does not; NaN, infinite
    numbers and whatever else is not JSON are refused, because nothing stands for them.

    The call runs in this thread. Who must stop a tool that blocks runs it in one that can be given up.
    """

    def make(query: BaseModel) -> Envelope:
        return _made(tool, query, context, on_retry, guards)

    return _caught(tool, context, lambda: _run(tool, args, context, make, on_note))


def reconcile(
    tool: Tool,
    args: dict[str, Any],
    context: ToolContext,
    on_note: OnNote | None = None,
    guards: Guards | None = None,
) -> Envelope | None:
    """Ask the backend what became of an earlier call. None: it took no effect, and the call may be made. Never raises.

    A tool that cannot ask is INTERNAL_ERROR, like one whose question fails: then nobody knows. One that may not ask
    now is CIRCUIT_OPEN, with the time when it may. What it says is the call's result, and hooks see it as such.
    """

    def ask() -> Envelope | None:
        if tool.reconcile is None:
            return failure("INTERNAL_ERROR", f"a call of {tool.name} was lost, and it cannot tell what became of it")
        query = tool.input.model_validate(args)
        try:
            found = _found(tool, query, context, guards)
        except CircuitOpen as error:
            return failure(error.code, str(error), error.until)
        return None if found is None else _judged(tool, _tool_call(tool, args, context), found, on_note)

    return _caught(tool, context, ask)


def refusal(tool: Tool, args: dict[str, Any], context: ToolContext) -> Envelope | None:
    """Return the failure of a call that its user has not granted, or whose arguments the tool refuses. Never raises.

    None: it may be made.
    """

    def check() -> Envelope | None:
        query = _query(tool, args)
        try:
            access.require(tool, None if isinstance(query, Envelope) else query, context)
        except ToolFailed as error:
            return failure(error.code, str(error))
        return query if isinstance(query, Envelope) else None

    return _caught(tool, context, check)


def _caught(tool: Tool, context: ToolContext, call: Callable[[], Answer]) -> Answer | Envelope:
    try:
        return call()
    except BaseException as error:  # noqa: BLE001 - foreign code: sys.exit() in a tool must not end a worker
        # Frames only: the text of a foreign exception may hold the arguments.
        frames = "".join(traceback.format_tb(error.__traceback__))
        log.error("tool.crashed", tool=tool.name, step_id=context.step_id, error=type(error).__name__, frames=frames)
        return failure("INTERNAL_ERROR", f"{tool.name} broke with {type(error).__name__}; the log has the place")


def _run(
    tool: Tool,
    args: dict[str, Any],
    context: ToolContext,
    make: Callable[[BaseModel], Envelope],
    on_note: OnNote | None,
) -> Envelope:
    query = _query(tool, args)
    if isinstance(query, Envelope):
        return query
    if not hooks():
        return make(query)
    asked = _tool_call(tool, args, context)
    call = consult("before_tool", asked, partial(_changed, tool, asked), on_note)
    if isinstance(call, Veto):
        return failure("REJECTED", f"{tool.name} was not called: {call.reason}")
    return _judged(tool, call, make(tool.input.model_validate(call.args)), on_note)


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
    return failure("REJECTED", f"the result was withheld: {judged.reason}") if isinstance(judged, Veto) else judged


def _changed_result(tool: Tool, envelope: Envelope, said: object) -> Envelope | Veto:
    """Take what a hook made of a result. What has happened cannot be vetoed, nor be said to have failed."""
    if tool.effect != "read" and (isinstance(said, Veto) or (isinstance(said, Envelope) and said.ok != envelope.ok)):
        raise TypeError(f"{tool.name} has an effect: a hook after it may only change the data of its result")
    if isinstance(said, Envelope) and said.ok:
        changed = checked(tool, said.data)
        if not changed.ok:
            raise ValueError(f"{tool.name} cannot have this result")
        return changed.model_copy(update={"cache": envelope.cache})
    if not isinstance(said, Envelope | Veto):
        raise TypeError("a hook after a tool returns an Envelope, a Veto or None")
    return said


def _made(
    tool: Tool, query: BaseModel, context: ToolContext, on_retry: OnRetry | None, guards: Guards | None
) -> Envelope:
    def make() -> Envelope:
        return _caught(tool, context, lambda: _answered(tool, query, context, on_retry, guards))

    if guards is None:
        return make()
    try:
        return guards.around(tool, query, context, make)
    except ToolFailed as error:
        return failure(error.code, str(error), error.retry_at)


def _answered(
    tool: Tool, query: BaseModel, context: ToolContext, on_retry: OnRetry | None, guards: Guards | None
) -> Envelope:
    try:
        result = _call(tool, query, context, on_retry, guards)
    except NeedsInput as error:
        return Envelope(ok=False, needs=storable(error.needs))
    except ToolFailed as error:
        failed = failure(error.code, concealed(str(error), tool, query), error.retry_at)
        return failed.model_copy(update={"unsure": isinstance(error, OutcomeUnknown)})
    except Unavailable as error:
        said = concealed(str(error), tool, query)
        failed = failure(error.code, said, _retry_at(error), unknown="UPSTREAM_5XX")
        return _asked_back(tool, query, context, guards, failed)
    except TimeoutError as error:
        failed = failure("TOOL_TIMEOUT", concealed(str(error), tool, query) or f"{tool.name} waited too long")
        return _asked_back(tool, query, context, guards, failed)
    return checked(tool, result)


def _asked_back(
    tool: Tool, query: BaseModel, context: ToolContext, guards: Guards | None, failed: Envelope
) -> Envelope:
    """Return what became of a call with an effect that got no answer; its failure, where it took no effect."""
    if tool.effect == "read" or tool.reconcile is None:
        return failed
    try:
        return _found(tool, query, context, guards) or failed
    except (ToolFailed, Unavailable, TimeoutError):
        return failed.model_copy(update={"unsure": True})


def _found(tool: Tool, query: BaseModel, context: ToolContext, guards: Guards | None) -> Envelope | None:
    """Return what the backend says of a call, by its key; None where it took no effect."""
    assert tool.reconcile is not None, "asked by the callers"
    result = _attempted(partial(tool.reconcile, query, context), tool, query, context, guards)
    return None if result is None else checked(tool, result)


def _query(tool: Tool, args: dict[str, Any]) -> BaseModel | Envelope:
    """Return the arguments as the input model, or the failure that they are."""
    try:
        return tool.input.model_validate(args)
    except ValidationError as error:
        return failure("BAD_ARGS", f"{tool.name}: {faults(error)}")


def _call(
    tool: Tool, query: BaseModel, context: ToolContext, on_retry: OnRetry | None, guards: Guards | None
) -> BaseModel:
    if context.remaining_s == 0:
        raise ToolFailed(f"{tool.name} was not called: its deadline had passed", code="TOOL_TIMEOUT")

    def announce(state: RetryCallState) -> None:
        if on_retry:
            code = known(_transient(state).code, "UPSTREAM_5XX")
            on_retry(state.attempt_number, code, state.upcoming_sleep)

    retrying = Retrying(
        retry=retry_if_exception_type(Unavailable),
        stop=stop_after_attempt(1 + tool.retries) | stop_before_delay(context.remaining_s),
        wait=_pause,
        before_sleep=announce,
        reraise=True,
    )
    made: BaseModel = retrying(_attempted, partial(tool.call, query, context), tool, query, context, guards)
    return made


def _attempted(
    call: Callable[[], Result], tool: Tool, query: BaseModel, context: ToolContext, guards: Guards | None
) -> Result:
    return call() if guards is None else guards.attempt(tool, query, context, call)


def _pause(state: RetryCallState) -> float:
    asked = _transient(state).retry_after_s
    return _backoff(state) if asked is None else max(0.0, asked)


def _transient(state: RetryCallState) -> Unavailable:
    error = state.outcome.exception() if state.outcome else None
    assert isinstance(error, Unavailable)
    return error


def _retry_at(error: Unavailable) -> datetime | None:
    if error.retry_after_s is None:
        return None
    return datetime.now(UTC) + timedelta(seconds=min(max(0.0, error.retry_after_s), _LONGEST_RETRY_AFTER_S))
