"""Hooks around tools may change and veto calls. A broken hook does no harm."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel, Field

from turnloom.models.contracts.envelope import Envelope, ToolError
from turnloom.models.errors import NotFound, ToolFailed
from turnloom.models.runtime.settings import settings
from turnloom.tools.context import ToolContext
from turnloom.tools.hooks import Hook, HookRecord, Hooks, Point, ToolCall, Veto, hooks
from turnloom.tools.registry import Tool
from turnloom.tools.runner import reconcile, run

MakeContext = Callable[..., ToolContext]
Install = Callable[..., None]


class Query(BaseModel):
    number: int = Field(ge=0)


class Found(BaseModel):
    doubled: int


def make_tool(**options: Any) -> Tool:
    def call(query: Query, _context: ToolContext) -> Found:
        if query.number == 13:
            raise ToolFailed("an unlucky number", code="CONFLICT")
        return Found(doubled=2 * query.number)

    given: dict[str, Any] = {"name": "sample.act", "description": "Act.", "effect": "read"}
    return Tool(input=Query, output=Found, call=call, **given | options)


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Install:
    """Return a function that installs hooks for this test: `install(before_tool=[function, …])`."""

    def install(**functions: list[Callable[..., Any]]) -> None:
        found: dict[str, Any] = {
            point: tuple(Hook(each.__name__, each) for each in listed) for point, listed in functions.items()
        }
        monkeypatch.setattr("turnloom.tools.hooks.hooks", lambda: Hooks(**found))
        monkeypatch.setattr("turnloom.tools.runner.hooks", lambda: Hooks(**found))

    return install


@pytest.fixture
def notes() -> list[HookRecord]:
    """Return the notes of hooks."""
    return []


@pytest.fixture
def act(make_context: MakeContext, notes: list[HookRecord]) -> Callable[..., Envelope]:
    """Call a tool with a number."""

    def act(number: Any, tool: Tool | None = None) -> Envelope:
        return run(tool or make_tool(), {"number": number}, make_context(), on_note=notes.append)

    return act


def one_more(call: ToolCall) -> ToolCall:
    return replace(call, args={"number": call.args["number"] + 1})


def no_sevens(call: ToolCall) -> Veto | None:
    return Veto("seven is not for sale") if call.args["number"] == 7 else None


def broken(*_: object) -> None:
    raise RuntimeError("nobody is to read this: 4711")


def test_a_hook_may_change_the_arguments(act: Callable[..., Envelope], install: Install) -> None:
    """Hooks are called in their order, each with the call as the one before has changed it."""
    install(before_tool=[one_more, one_more])

    assert act(1).data == {"doubled": 6}


def test_a_veto_is_a_rejection(act: Callable[..., Envelope], install: Install, notes: list[HookRecord]) -> None:
    """A vetoed call is not made. It fails with REJECTED and the reason, and later hooks are not called."""
    install(before_tool=[no_sevens, broken])

    envelope = act(7)

    assert envelope.error is not None
    assert envelope.error.code == "REJECTED"
    assert "seven is not for sale" in envelope.error.message
    assert notes == [HookRecord("no_sevens", "before_tool", "vetoed", "seven is not for sale")]


@pytest.mark.parametrize("point", ["before_tool", "after_tool"])
@pytest.mark.parametrize(
    ("hook", "reason"),
    [
        (broken, "RuntimeError"),
        (lambda *_: "yes", "TypeError"),
        (lambda *_: sys.exit(3), "SystemExit"),
        (lambda: None, "TypeError"),
    ],
    ids=["raises", "nonsense", "exits", "signature"],
)
def test_a_broken_hook_is_noted_and_passed_over(
    act: Callable[..., Envelope], install: Install, notes: list[HookRecord], point: Point, hook: Any, reason: str
) -> None:
    """Whatever goes wrong in a hook, the call is made as if it were not there. Its words are not stored."""
    install(**{point: [hook]})

    envelope = act(1)

    assert envelope.data == {"doubled": 2}
    assert [(note.point, note.kind, note.reason) for note in notes] == [(point, "failed", reason)]


def test_changed_arguments_are_checked_like_others(
    act: Callable[..., Envelope], install: Install, notes: list[HookRecord]
) -> None:
    """Arguments that the tool refuses are a fault of the hook, not of the call."""
    install(before_tool=[lambda call: replace(call, args={"number": -1})])

    assert act(1).data == {"doubled": 2}
    assert [note.kind for note in notes] == ["failed"]


def test_a_refused_call_reaches_no_hook(
    act: Callable[..., Envelope], install: Install, notes: list[HookRecord]
) -> None:
    """Arguments are validated before any hook is called."""
    install(before_tool=[broken])

    envelope = act("many")

    assert envelope.error is not None
    assert envelope.error.code == "BAD_ARGS"
    assert notes == []


def test_approved_arguments_are_not_changed_any_more(act: Callable[..., Envelope], install: Install) -> None:
    """A hook that changes the approved arguments stops the call."""
    install(before_tool=[one_more])

    envelope = act(1, make_tool(requires_approval=True))

    assert envelope.error is not None
    assert envelope.error.code == "REJECTED"


def test_a_hook_sees_the_result_and_may_change_it(act: Callable[..., Envelope], install: Install) -> None:
    """After a call a hook gets the call, as other hooks have changed it, and its result."""
    seen: list[tuple[dict[str, Any], Any]] = []

    def halve(call: ToolCall, envelope: Envelope) -> Envelope:
        seen.append((call.args, envelope.data))
        return Envelope(ok=True, data={"doubled": envelope.data["doubled"] // 2})

    install(before_tool=[one_more], after_tool=[halve])

    assert act(1).data == {"doubled": 2}
    assert seen == [({"number": 2}, {"doubled": 4})]


def test_a_hook_sees_failures_too(act: Callable[..., Envelope], install: Install) -> None:
    """A hook may give a failed call a result, if the call only reads."""
    install(after_tool=[lambda _, envelope: None if envelope.ok else Envelope(ok=True, data={"doubled": 0})])

    assert act(13).data == {"doubled": 0}


def test_a_changed_result_is_checked_like_others(
    act: Callable[..., Envelope], install: Install, notes: list[HookRecord]
) -> None:
    """A hook's result that the output model refuses is refused too."""
    install(after_tool=[lambda *_: Envelope(ok=True, data={"halved": 1})])

    assert act(1).data == {"doubled": 2}
    assert [note.reason for note in notes] == ["ValueError"]


def test_the_result_of_a_read_may_be_withheld(act: Callable[..., Envelope], install: Install) -> None:
    """A veto after a call that only reads ends it as REJECTED, without its data."""
    install(after_tool=[lambda *_: Veto("too much is in it")])

    envelope = act(1)

    assert (envelope.ok, envelope.data) == (False, None)
    assert envelope.error is not None
    assert envelope.error.code == "REJECTED"


@pytest.mark.parametrize(
    "said", [Veto("undo it"), Envelope(ok=False, error=ToolError(code="CONFLICT", message="not so"))]
)
def test_an_effect_cannot_be_vetoed(
    act: Callable[..., Envelope], install: Install, notes: list[HookRecord], said: Any
) -> None:
    """A call with an effect has taken place. No hook turns it into a failure, but a hook may change its data."""
    install(after_tool=[lambda *_: said, lambda *_: Envelope(ok=True, data={"doubled": 0})])

    envelope = act(1, make_tool(effect="write"))

    assert envelope.data == {"doubled": 0}
    assert [note.kind for note in notes] == ["failed"]


def test_a_note_that_cannot_be_stored_does_not_undo_the_call(make_context: MakeContext, install: Install) -> None:
    """A call that has taken effect has succeeded, even if the note on a hook cannot be stored."""
    install(after_tool=[broken])

    def full(_note: HookRecord) -> None:
        raise OSError("no space left")

    envelope = run(make_tool(effect="write"), {"number": 1}, make_context(), on_note=full)

    assert envelope.data == {"doubled": 2}


@pytest.mark.parametrize(("reason", "kept"), [("nul \0 and \ud800 half", "nul  and ? half"), (3, "AttributeError")])
def test_a_vetos_reason_can_be_stored(
    act: Callable[..., Envelope], install: Install, notes: list[HookRecord], reason: Any, kept: str
) -> None:
    """Characters that Postgres would refuse are removed or replaced. A veto without a reason is a broken hook."""
    install(before_tool=[lambda _: Veto(reason)])

    act(1)

    assert [note.reason for note in notes] == [kept]


def test_hooks_see_the_result_of_a_lost_call_too(install: Install, make_context: MakeContext) -> None:
    """A hook that hides something also hides it when the backend is asked about a call."""
    install(after_tool=[lambda *_: Envelope(ok=True, data={"doubled": 0})])
    tool = make_tool(effect="write", reconcile=lambda _query, _context: Found(doubled=8))

    envelope = reconcile(tool, {"number": 4}, make_context())

    assert envelope is not None
    assert envelope.data == {"doubled": 0}


@pytest.fixture
def configured(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Set `TURNLOOM_HOOKS`."""

    def configure(paths: str) -> None:
        monkeypatch.setenv("TURNLOOM_HOOKS", paths)
        settings.cache_clear()
        hooks.cache_clear()

    yield configure
    monkeypatch.undo()
    settings.cache_clear()
    hooks.cache_clear()


def test_hooks_come_from_the_setting_and_from_installed_packages(
    configured: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Packages announce hooks as entry points. The setting names modules, or objects in them, which come after."""
    package = SimpleNamespace(name="acme", load=lambda: SimpleNamespace(before_tool=one_more, after_model=broken))
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [package] if group == "turnloom.hooks" else [])
    monkeypatch.setattr("tests.tools.conftest.sample", SimpleNamespace(before_tool=no_sevens), raising=False)
    configured('["tests.tools.conftest:sample"]')

    found = hooks()

    assert [hook.name for hook in found.before_tool] == ["acme", "tests.tools.conftest:sample"]
    assert [hook.name for hook in found.after_model] == ["acme"]
    assert not found.before_model


@pytest.mark.parametrize("path", ["no.such.module", "json", "tests.tools.conftest:nobody"])
def test_a_hook_that_is_none_is_named(configured: Callable[[str], None], path: str) -> None:
    """A hook that cannot be loaded, or has an unknown hook point, is named in the error: it may be a guard."""
    configured(f'["{path}"]')

    with pytest.raises(NotFound, match=path):
        hooks()


def test_without_hooks_there_are_none(configured: Callable[[str], None]) -> None:
    """With an empty setting and no entry points no hook is called."""
    configured("[]")

    assert not hooks()
