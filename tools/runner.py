"""Run one tool call and say how it went.

In: a tool, its arguments as JSON, the context.  Out: an envelope whose `data` Postgres can store.
Always: nothing that a tool raises gets past `run`; only `Unavailable` is tried again, and only inside the deadline.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from pydantic import BaseModel, ValidationError

from models.contracts.envelope import Envelope
from models.errors import ToolFailed
from tools.attempts import Attempts, OnRetry, crashed
from tools.context import ToolContext
from tools.enveloping import checked, failure, faults
from tools.guards import Guards, access
from tools.hooks import OnNote, ToolCall, Veto, consult, hooks
from tools.registry import Tool


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
    its time in `retry_at` may be called again then, in another claim. Everything else it raises, exits of the
    interpreter included, becomes INTERNAL_ERROR, but for `TimeoutError`, which becomes TOOL_TIMEOUT.

    Once the call of a tool with the effect `write` or `spend` has begun, it counts as failed only where the tool says
    that nothing happened, or its backend does: `tools.attempts` has the rule. Otherwise the envelope is `unsure`.

    In results, NUL and lone surrogates become U+FFFD, because outside text has them and jsonb does not; NaN, infinite
    numbers and whatever else is not JSON are refused, because nothing stands for them.

    The call runs in this thread. Who must stop a tool that blocks runs it in one that can be given up.
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
        return attempts.doubt(crashed(tool, context, error))


def reconcile(
    tool: Tool,
    args: dict[str, Any],
    context: ToolContext,
    on_note: OnNote | None = None,
    guards: Guards | None = None,
) -> Envelope | None:
    """Ask the backend what became of an earlier call. None: it took no effect, and the call may be made. Never raises.

    A failure is `unsure`: it says why nobody knows, and whether the backend may be asked again. One that may not be
    asked now is CIRCUIT_OPEN, with the time when it may. What the backend says is the result of the call, and hooks see
    it as such.
    """
    try:
        found = Attempts(tool, context, guards).ask(tool.input.model_validate(args))
        return _judged(tool, _tool_call(tool, args, context), found, on_note) if found and found.ok else found
    except BaseException as error:  # noqa: BLE001 - as above
        return crashed(tool, context, error).model_copy(update={"unsure": True})


def refusal(tool: Tool, args: dict[str, Any], context: ToolContext) -> Envelope | None:
    """Return the failure of a call that its user has not granted, or whose arguments the tool refuses. Never raises.

    None: it may be made.
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
    """Take what a hook made of a result. What happened, or may have, is neither vetoed nor said to have failed."""
    is_other = isinstance(said, Veto) or envelope.unsure or (isinstance(said, Envelope) and said.ok != envelope.ok)
    if tool.effect != "read" and is_other:
        raise TypeError(f"{tool.name} has an effect: a hook after it may only change the data of its result")
    if isinstance(said, Envelope) and said.ok:
        changed = checked(tool, said.data)
        if not changed.ok:
            raise ValueError(f"{tool.name} cannot have this result")
        return changed.model_copy(update={"cache": envelope.cache})
    if not isinstance(said, Envelope | Veto):
        raise TypeError("a hook after a tool returns an Envelope, a Veto or None")
    return said


def _query(tool: Tool, args: dict[str, Any]) -> BaseModel | Envelope:
    """Return the arguments as the input model, or the failure that they are."""
    try:
        return tool.input.model_validate(args)
    except ValidationError as error:
        return failure("BAD_ARGS", f"{tool.name}: {faults(error)}")
