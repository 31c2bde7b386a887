"""Attempts: the tries of one call, and the question to the backend whether a lost call took effect.

A call that began and did not succeed may have taken effect. If the tool does more than read, only the tool can say
that nothing happened. It says so by raising `NeedsInput`, by raising `ToolFailed` with a code that is not in
`BREAKDOWNS`, or, if it has no `reconcile`, by raising `Unavailable`. After any other failure we ask the backend through
`reconcile`. If the backend cannot be asked, or contradicts itself, the outcome is unsure.
"""

import traceback
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TypeVar

from pydantic import BaseModel
from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_attempt, stop_before_delay
from tenacity.wait import wait_exponential_jitter

from turnloom.models.contracts.envelope import Envelope
from turnloom.models.errors import NeedsInput, OutcomeUnknown, ToolFailed, Unavailable
from turnloom.models.runtime.logging import log
from turnloom.tools.context import ToolContext
from turnloom.tools.envelope import asking, checked, failure, known, redacted
from turnloom.tools.faults import function_of
from turnloom.tools.guards import Guards
from turnloom.tools.guards.breaker import CircuitOpen
from turnloom.tools.registry import Tool

OnRetry = Callable[[int, str, float], None]
"""Called before each further try with the tries so far, the code of the failure and the pause in seconds."""

BREAKDOWNS = frozenset({"INTERNAL_ERROR", "TOOL_TIMEOUT", "UPSTREAM_5XX"})
"""Codes that mean that something broke. A `ToolFailed` with one of them does not rule out that the call took effect."""

Result = TypeVar("Result")

_LONGEST_RETRY_AFTER_S = 86_400.0
_backoff = wait_exponential_jitter(multiplier=0.05, max=1, jitter=0.05)


class Attempts:
    """The tries of one call."""

    def __init__(
        self, tool: Tool, context: ToolContext, guards: Guards | None, on_retry: OnRetry | None = None
    ) -> None:
        self._tool = tool
        self._context = context
        self._guards = guards
        self._on_retry = on_retry
        self._query: BaseModel | None = None
        """The arguments of the call; None until it has begun."""
        self._failed_tries = 0
        """Tries that ended with `Unavailable`."""

    def make(self, query: BaseModel) -> Envelope:
        """Make the call and return its outcome."""
        try:
            result = self._tried(query)
        except BaseException as error:  # noqa: BLE001 - foreign code: sys.exit() in a tool must not end a worker
            failed = self._failure(error, query)
            return failed if self._says_that_nothing_happened(error) else self.verified(failed)
        envelope = checked(self._tool, result)
        return envelope if envelope.ok else self.verified(envelope, has_acted=True)

    def verified(self, failed: Envelope, *, has_acted: bool = False) -> Envelope:
        """Ask the backend whether a failed call took effect. Return `failed` if it took none.

        `has_acted` means that the tool returned a result. If the backend then does not know the call, it contradicts
        the tool, and the outcome is unsure.
        """
        if self._query is None or self._tool.effect == "read":
            return failed
        if self._tool.reconcile is None:
            return _unsure(failed)
        asked = self.ask(self._query)
        if asked is None:
            return _unsure(failed) if has_acted else failed
        return asked if asked.ok else _unsure(failed, asked)

    def ask(self, query: BaseModel) -> Envelope | None:
        """Ask the backend for the result of the call. None means that the call took no effect.

        A failure says why the outcome is unknown, and whether the backend may be asked again later.
        """
        reconcile = self._tool.reconcile
        if reconcile is None:
            message = f"a call of {self._tool.name} was lost, and the tool has no way to look up its outcome"
            return _unsure(failure("INTERNAL_ERROR", message))
        try:
            result = self._guarded(partial(reconcile, query, self._context), query)
        except BaseException as error:  # noqa: BLE001 - foreign code, as above
            failed = self._failure(error, query)
            if isinstance(error, CircuitOpen):
                failed = failure(error.code, str(error), error.until)
            if failed.error is None:
                message = f"{self._tool.name} asked for input while it looked up the outcome of a call"
                failed = failure("INTERNAL_ERROR", message)
            return failed.model_copy(update={"unsure": True, "ask_again": _may_be_asked_again(error)})
        if result is None:
            return None
        found = checked(self._tool, result)
        return found if found.ok else _unsure(found)

    def _says_that_nothing_happened(self, error: BaseException) -> bool:
        """Whether the tool rules out that any of its tries took effect."""
        if self._query is None:
            return True
        if self._failed_tries and self._tool.reconcile is not None:
            return False  # the error is that of the last try and says nothing about the earlier ones
        if isinstance(error, Unavailable):
            return True
        if isinstance(error, ToolFailed) and not isinstance(error, OutcomeUnknown):
            return known(error.code, "INTERNAL_ERROR") not in BREAKDOWNS
        return isinstance(error, NeedsInput)

    def _failure(self, error: BaseException, query: BaseModel) -> Envelope:
        """Return the envelope of a call that raised this error."""
        if isinstance(error, NeedsInput):
            return asking(error.needs)
        if isinstance(error, ToolFailed):
            said = redacted(str(error), self._tool, query)
            return failure(error.code, said, error.retry_at, cause=error.cause)
        if isinstance(error, Unavailable):
            said = redacted(str(error), self._tool, query)
            return failure(error.code, said, _retry_at(error), unknown="UPSTREAM_5XX")
        if isinstance(error, TimeoutError):
            said = redacted(str(error), self._tool, query)
            return failure("TOOL_TIMEOUT", said or f"{self._tool.name} waited too long")
        return crashed(self._tool, self._context, error)

    def _tried(self, query: BaseModel) -> BaseModel:
        if self._context.remaining_s == 0:
            raise ToolFailed(f"{self._tool.name} was not called: its deadline had passed", code="TOOL_TIMEOUT")

        function = function_of(self._tool, self._context)

        def call() -> BaseModel:
            self._query = query
            tries, context = self._failed_tries, self._context
            return function(query, replace(context, tries=tries) if tries else context)

        retrying = Retrying(
            retry=retry_if_exception_type(Unavailable),
            stop=stop_after_attempt(1 + self._tool.retries) | stop_before_delay(self._context.remaining_s),
            wait=_pause,
            after=self._note_unavailable,
            before_sleep=self._announce,
            reraise=True,
        )
        made: BaseModel = retrying(self._guarded, call, query)
        return made

    def _guarded(self, call: Callable[[], Result], query: BaseModel) -> Result:
        return call() if self._guards is None else self._guards.attempt(self._tool, query, self._context, call)

    def _note_unavailable(self, _: RetryCallState) -> None:
        self._failed_tries += 1

    def _announce(self, state: RetryCallState) -> None:
        if self._on_retry:
            code = known(_transient(state).code, "UPSTREAM_5XX")
            self._on_retry(state.attempt_number, code, state.upcoming_sleep)


def crashed(tool: Tool, context: ToolContext, error: BaseException) -> Envelope:
    """Return the failure of foreign code that crashed, and log where it did."""
    # Log the frames only: the text of a foreign exception may contain the arguments.
    frames = "".join(traceback.format_tb(error.__traceback__))
    log.error("tool.crashed", tool=tool.name, step_id=context.step_id, error=type(error).__name__, frames=frames)
    return failure("INTERNAL_ERROR", f"{tool.name} crashed with {type(error).__name__}; the log says where")


def _unsure(failed: Envelope, asked: Envelope | None = None) -> Envelope:
    """Mark a failure as unsure. `asked` is the failure of the question to the backend, if it was asked."""
    assert failed.error is not None
    if asked is None or asked.error is None or not asked.ask_again:
        error = failed.error.model_copy(update={"retry_at": None})
        return failed.model_copy(update={"unsure": True, "ask_again": False, "error": error})
    error = failed.error.model_copy(update={"retry_at": asked.error.retry_at or failed.error.retry_at})
    return failed.model_copy(update={"unsure": True, "ask_again": True, "error": error})


def _may_be_asked_again(error: BaseException) -> bool:
    """Whether the backend may answer later, after asking it failed with this error.

    A `reconcile` that fails in another way would fail again.
    """
    if isinstance(error, ToolFailed):
        return isinstance(error, CircuitOpen) or error.code in BREAKDOWNS or error.retry_at is not None
    return isinstance(error, Unavailable | TimeoutError)


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
