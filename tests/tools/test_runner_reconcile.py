"""If a call with an effect gets no answer, its backend is asked before the call counts as failed."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.tools.test_runner import Found, MakeContext, Query, make_tool, raising
from turnloom.models.errors import ToolFailed, Unavailable
from turnloom.tools.context import ToolContext
from turnloom.tools.runner import run

NO_ANSWER = [Unavailable("the line broke", code="UPSTREAM_5XX"), TimeoutError("nothing came")]


def asked(answer: Found | Exception | None) -> Callable[[Query, ToolContext], Found | None]:
    def reconcile(_query: Query, _context: ToolContext) -> Found | None:
        if isinstance(answer, Exception):
            raise answer
        return answer

    return reconcile


@pytest.mark.parametrize("error", NO_ANSWER, ids=["broken off", "timed out"])
@pytest.mark.parametrize(
    ("answer", "ok", "unsure"),
    [(Found(value="kept"), True, False), (None, False, False), (ToolFailed("who is that?"), False, True)],
    ids=["it took effect", "it took none", "nobody knows"],
)
def test_a_write_without_an_answer_is_asked_back(
    error: Exception, answer: Any, ok: bool, unsure: bool, make_context: MakeContext
) -> None:
    """It has succeeded, has failed or is unsure, as the backend says for its key."""
    tool = make_tool(raising(error), effect="write", retries=0, reconcile=asked(answer))

    envelope = run(tool, {}, make_context())

    assert (envelope.ok, envelope.unsure) == (ok, unsure)


@pytest.mark.parametrize(
    ("effect", "error", "unsure"),
    [("read", NO_ANSWER[1], False), ("write", NO_ANSWER[0], False), ("write", NO_ANSWER[1], True)],
    ids=["a read", "an outage", "a time-out"],
)
def test_calls_that_are_not_asked_back(effect: str, error: Exception, unsure: bool, make_context: MakeContext) -> None:
    """Reads have no effect. A write without a query function says only by `Unavailable` that it did nothing."""
    envelope = run(make_tool(raising(error), effect=effect, retries=0), {}, make_context())

    assert (envelope.ok, envelope.unsure) == (False, unsure)
