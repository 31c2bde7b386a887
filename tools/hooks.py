"""Hooks: code of others around each call of a tool and of a language model.

A hook is a module, or another object, with any of the functions `before_model`, `after_model`, `before_tool` and
`after_tool`. Each is told what is about to happen, or has happened, and returns a changed copy of it, a `Veto`, or
None. One that raises, or returns what cannot be used, is noted and counts as having returned None.

Hooks come from the entry points `turnloom.hooks` of installed packages and from the setting `TURNLOOM_HOOKS`.
"""

import importlib.metadata
import pkgutil
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Literal, TypeVar, get_args

from models.contracts.plan import Effect
from models.errors import NotFound
from models.logging import log
from models.settings import settings
from tools.context import ToolContext

Point = Literal["before_model", "after_model", "before_tool", "after_tool"]
"""Where hooks are asked."""

POINTS: tuple[Point, ...] = get_args(Point)
"""All of them."""


@dataclass(frozen=True, slots=True)
class Veto:
    """A hook's no."""

    reason: str
    """A sentence that may be shown: to whoever reads the step, or as the reply where a plan was to be made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call of a tool. A hook may change the arguments."""

    tool: str
    effect: Effect
    args: dict[str, Any]
    """With every reference filled in."""
    context: ToolContext


@dataclass(frozen=True, slots=True)
class Note:
    """The record of a hook that changed or stopped something."""

    hook: str
    point: Point
    kind: Literal["vetoed", "failed"]
    reason: str
    """Of a veto its reason; of a failure the name of the exception."""


OnNote = Callable[[Note], None]
"""Takes what is to be recorded."""


@dataclass(frozen=True, slots=True)
class Hook:
    """One function of a hook, and the name that it goes by."""

    name: str
    function: Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Hooks:
    """The functions of all hooks, by the point where they are asked, in their order."""

    before_model: tuple[Hook, ...] = ()
    after_model: tuple[Hook, ...] = ()
    before_tool: tuple[Hook, ...] = ()
    after_tool: tuple[Hook, ...] = ()

    def __bool__(self) -> bool:
        return any(self.at(point) for point in POINTS)

    def at(self, point: Point) -> tuple[Hook, ...]:
        """Return the functions that are asked at a point."""
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
    """Ask the hooks at a point, one after the other, and return the subject as they have changed it, or the first veto.

    `accept` takes what a hook returned, and raises where it cannot be used; `call` is what has led to the subject.
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
) -> tuple[Subject | Veto | None, Note | None]:
    try:
        said = hook.function(*told)
        accepted = None if said is None else accept(said)
        if isinstance(accepted, Veto):
            accepted = Veto(storable(accepted.reason))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - code of others must not cost the turn
        # Frames only: the text of a foreign exception may hold what was said.
        frames = "".join(traceback.format_tb(error.__traceback__))
        log.error("hook.failed", hook=hook.name, point=point, error=type(error).__name__, frames=frames)
        return None, Note(hook.name, point, "failed", type(error).__name__)
    if not isinstance(accepted, Veto):
        return accepted, None
    log.info("hook.vetoed", hook=hook.name, point=point)
    return accepted, Note(hook.name, point, "vetoed", accepted.reason)


def _tell(on_note: OnNote, note: Note) -> None:
    try:
        on_note(note)
    except Exception:  # noqa: BLE001 - the call may have taken effect: it must not seem to have failed
        log.exception("hook.unrecorded", hook=note.hook, point=note.point)


def storable(text: str) -> str:
    """Return a hook's words without what Postgres refuses in a text: NUL, and halves of surrogate pairs."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()


@lru_cache
def hooks() -> Hooks:
    """Return this process's hooks: those of entry points, by name, then those of the setting, in its order.

    Raises:
        NotFound: one of them cannot be loaded, or has none of the four functions.
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
