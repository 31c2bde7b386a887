"""Hooks: foreign code that runs before and after each call of a tool or a language model.

A hook is a module, or another object, with any of the functions `before_model`, `after_model`, `before_tool` and
`after_tool`. Each function gets the call that is about to be made, or the call that was made and its result. It returns
a changed copy, a `Veto`, or None. If it raises, or returns something that cannot be used, that is recorded, and it
counts as having returned None.

Hooks come from the entry points `turnloom.hooks` of installed packages and from the setting `TURNLOOM_HOOKS`.
"""

import importlib.metadata
import pkgutil
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Literal, TypeVar, get_args

from turnloom.models.contracts.plan import Effect
from turnloom.models.errors import NotFound
from turnloom.models.runtime.logging import log
from turnloom.models.runtime.settings import settings
from turnloom.tools.context import ToolContext

Point = Literal["before_model", "after_model", "before_tool", "after_tool"]
"""A point at which hooks are called."""

POINTS: tuple[Point, ...] = get_args(Point)
"""All points."""


@dataclass(frozen=True, slots=True)
class Veto:
    """A hook's refusal."""

    reason: str
    """A sentence that may be shown: in the failed step, or as the reply if the veto stopped the planning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call of a tool. A hook may change the arguments."""

    tool: str
    effect: Effect
    args: dict[str, Any]
    """The arguments, with every reference filled in."""
    context: ToolContext


@dataclass(frozen=True, slots=True)
class HookRecord:
    """A record of a hook that vetoed or failed."""

    hook: str
    point: Point
    kind: Literal["vetoed", "failed"]
    reason: str
    """The reason of the veto, or the name of the exception."""


OnNote = Callable[[HookRecord], None]
"""Called with each note to record."""


@dataclass(frozen=True, slots=True)
class Hook:
    """One function of a hook, and the hook's name."""

    name: str
    function: Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Hooks:
    """The functions of all hooks by point, in the order in which they are called."""

    before_model: tuple[Hook, ...] = ()
    after_model: tuple[Hook, ...] = ()
    before_tool: tuple[Hook, ...] = ()
    after_tool: tuple[Hook, ...] = ()

    def __bool__(self) -> bool:
        return any(self.at(point) for point in POINTS)

    def at(self, point: Point) -> tuple[Hook, ...]:
        """Return the functions that are called at a point."""
        found: tuple[Hook, ...] = getattr(self, point)
        return found


Subject = TypeVar("Subject")


def consult(
    point: Point,
    subject: Subject,
    accept: Callable[[Any], Subject | Veto],
    on_note: OnNote | None,
    call: object = None,
) -> Subject | Veto:
    """Call the hooks at a point in order. Return the subject with their changes, or the first veto.

    `accept` turns a hook's answer into a subject or a veto, and raises if it cannot be used. `call` is the call that
    produced the subject, for the points after a call.
    """
    for hook in hooks().at(point):
        said, note = _ask(hook, point, (subject,) if call is None else (call, subject), accept)
        if note is not None and on_note is not None:
            _tell(on_note, note)
        if isinstance(said, Veto):
            return said
        subject = subject if said is None else said
    return subject


def _ask(
    hook: Hook, point: Point, told: tuple[object, ...], accept: Callable[[Any], Subject | Veto]
) -> tuple[Subject | Veto | None, HookRecord | None]:
    try:
        said = hook.function(*told)
        accepted = None if said is None else accept(said)
        if isinstance(accepted, Veto):
            accepted = Veto(storable(accepted.reason))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - foreign code must not fail the turn
        # Log the frames only: the text of a foreign exception may contain the conversation.
        frames = "".join(traceback.format_tb(error.__traceback__))
        log.error("hook.failed", hook=hook.name, point=point, error=type(error).__name__, frames=frames)
        return None, HookRecord(hook.name, point, "failed", type(error).__name__)
    if not isinstance(accepted, Veto):
        return accepted, None
    log.info("hook.vetoed", hook=hook.name, point=point)
    return accepted, HookRecord(hook.name, point, "vetoed", accepted.reason)


def _tell(on_note: OnNote, note: HookRecord) -> None:
    try:
        on_note(note)
    except Exception:  # noqa: BLE001 - the call may have taken effect: it must not seem to have failed
        log.exception("hook.unrecorded", hook=note.hook, point=note.point)


def storable(text: str) -> str:
    """Drop NUL from a hook's text, and replace lone surrogates by `?`: Postgres refuses both."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()


@lru_cache
def hooks() -> Hooks:
    """Return this process's hooks: first those of entry points, sorted by name, then those of the setting, in order.

    Raises:
        NotFound: a hook cannot be loaded, or has none of the four functions.
    """
    found: dict[Point, list[Hook]] = {point: [] for point in POINTS}
    for name, hook in _loaded():
        points = [point for point in POINTS if hasattr(hook, point)]
        if not points:
            raise NotFound(f"the hook {name!r} has none of the functions {', '.join(POINTS)}")
        for point in points:
            found[point].append(Hook(name, getattr(hook, point)))
    return Hooks(**{point: tuple(listed) for point, listed in found.items()})


def _loaded() -> Iterator[tuple[str, object]]:
    for entry in sorted(importlib.metadata.entry_points(group="turnloom.hooks"), key=lambda entry: entry.name):
        yield entry.name, _load(entry.name, entry.load)
    for path in settings().hooks:
        yield path, _load(path, partial(pkgutil.resolve_name, path))


def _load(name: str, load: Callable[[], object]) -> object:
    try:
        return load()
    except Exception as error:
        raise NotFound(f"the hook {name!r} cannot be loaded: {error!r}; look at TURNLOOM_HOOKS") from error
