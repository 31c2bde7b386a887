"""Run one tool call and return its outcome.

In: a tool, its arguments as JSON, the context.  Out: an envelope whose `data` Postgres can store.
Always: no exception of a tool leaves `run`. Only `Unavailable` is tried again, and only within the deadline.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from pydantic import BaseModel, ValidationError

from turnloom.models.contracts.envelope import Envelope
from turnloom.models.errors import ToolFailed
from turnloom.models.runtime.value_faults import faults_of
from turnloom.tools.attempts import Attempts, OnRetry, crashed
from turnloom.tools.context import ToolContext
from turnloom.tools.envelope import checked, failure
from turnloom.tools.guards import Guards, access
from turnloom.tools.hooks import OnNote, ToolCall, Veto, consult, hooks
from turnloom.tools.registry import Tool


def run(
    tool: Tool,
    args: dict[str, Any],
    context: ToolContext,
    on_retry: OnRetry | None = None,
    on_note: OnNote | None = None,
    guards: Guards | None = None,
) -> Envelope:
    """Check the arguments, ask hooks and guards, call the tool, check its result, ask the hooks again. Never raises.

    A tool raises `ToolFailed` for a failure that will not pass, `NeedsInput` for something that only the user can say,
    and `Unavailable` for a failure that may pass. After `Unavailable` the tool is called again, up to `tool.retries`
    times. The pause before each try is the one that the exception names, otherwise a short one that grows. A pause that
    would cross the deadline ends the tries. If a failure names a time in `retry_at`, another claim may call the tool
    again at that time. `TimeoutError` becomes TOOL_TIMEOUT. Every other exception, `SystemExit` included, becomes
    INTERNAL_ERROR.

    Once the call of a tool with the effect `write` or `spend` has begun, it counts as failed only if the tool or its
    backend says that nothing happened (`tools.attempts` has the rule). Otherwise the envelope is `unsure`.

    In results, NUL and lone surrogates become U+FFFD, because outside text contains them and jsonb cannot hold them.
    NaN, infinite numbers and other values outside JSON are refused, because JSON has nothing to replace them with.

    The call runs in this thread. To be able to stop a tool that blocks, run it in a thread that can be abandoned.
    """
    attempts = Attempts(tool, context, guards, on_retry)

    def make(query: BaseModel) -> Envelope:
        if guards is None:
            return attempts.make(query)
        try:
            return guards.around(tool, query, context, partial(attempts.make, query))
        except ToolFailed as error:
            return failure(error.code, str(error), error.retry_at)

    try:
        return _run(tool, args, context, make, on_note)
    except BaseException as error:  # noqa: BLE001 - foreign code: sys.exit() in a hook must not end a worker
        return attempts.verified(crashed(tool, context, error))


def reconcile(
    tool: Tool,
    args: dict[str, Any],
    context: ToolContext,
    on_note: OnNote | None = None,
    guards: Guards | None = None,
) -> Envelope | None:
    """Ask the backend for the result of an earlier call. Never raises.

    None means that the call took no effect and may be made. A failure is `unsure`: it says why the outcome is unknown,
    and whether the backend may be asked again. If the circuit is open, the failure is CIRCUIT_OPEN and says when the
    backend may be asked. The backend's answer is the result of the call, and hooks see it as such.
    """
    try:
        found = Attempts(tool, context, guards).ask(tool.input.model_validate(args))
        return _judged(tool, _tool_call(tool, args, context), found, on_note) if found and found.ok else found
    except BaseException as error:  # noqa: BLE001 - as above
        return crashed(tool, context, error).model_copy(update={"unsure": True})


def refusal(tool: Tool, args: dict[str, Any], context: ToolContext) -> Envelope | None:
    """Return the failure of a call that may not be made. None means that it may. Never raises.

    A call fails here if its user has not granted it or if the tool refuses its arguments.
    """
    try:
        query = _query(tool, args)
        access.require(tool, None if isinstance(query, Envelope) else query, context)
        return query if isinstance(query, Envelope) else None
    except ToolFailed as error:
        return failure(error.code, str(error))
    except BaseException as error:  # noqa: BLE001 - as above
        return crashed(tool, context, error)


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
    """Return a hook's veto, or the call with the arguments that the hook chose."""
    if isinstance(said, Veto):
        return said
    if not isinstance(said, ToolCall):
        raise TypeError("`before_tool` must return a ToolCall, a Veto or None")
    tool.input.model_validate(said.args)
    if tool.requires_approval and said.args != asked.args:
        return Veto("a hook changed the arguments that a person has approved")
    return replace(asked, args=said.args)


def _judged(tool: Tool, call: ToolCall, envelope: Envelope, on_note: OnNote | None) -> Envelope:
    judged = consult("after_tool", envelope, partial(_changed_result, tool, envelope), on_note, call)
    return failure("REJECTED", f"the result was withheld: {judged.reason}") if isinstance(judged, Veto) else judged


def _changed_result(tool: Tool, envelope: Envelope, said: object) -> Envelope | Veto:
    """Return a hook's veto or changed result.

    If the tool has an effect, a hook may neither veto the result, nor turn it into a failure or back, nor change it at
    all if it is unsure.
    """
    is_other = isinstance(said, Veto) or envelope.unsure or (isinstance(said, Envelope) and said.ok != envelope.ok)
    if tool.effect != "read" and is_other:
        raise TypeError(f"{tool.name} has an effect: `after_tool` may only change the data of its result")
    if isinstance(said, Envelope) and said.ok:
        changed = checked(tool, said.data)
        if not changed.ok:
            raise ValueError(f"the output model of {tool.name} refuses the hook's result")
        return changed.model_copy(update={"cache": envelope.cache})
    if not isinstance(said, Envelope | Veto):
        raise TypeError("`after_tool` must return an Envelope, a Veto or None")
    return said


def _query(tool: Tool, args: dict[str, Any]) -> BaseModel | Envelope:
    """Return the arguments as the input model, or a BAD_ARGS failure if the model refuses them."""
    try:
        return tool.input.model_validate(args)
    except ValidationError as error:
        return failure("BAD_ARGS", f"{tool.name}: {faults_of(error, 'arguments')}")
