"""Structured logs: an event is `noun.past_participle`, the rest are fields.

Ids are bound once, at the edge (`structlog.contextvars.bound_contextvars`). Never log message text, phone numbers,
secrets or SQL parameters; if an error's message may hold them, log only its class.
"""

import logging
import sys
import traceback
from collections.abc import Iterator
from typing import Any, TextIO

from turnloom.models.runtime.lean_imports import without
from turnloom.models.runtime.settings import settings

# Rich would only draw tracebacks, which `format_error` writes. It takes as long to load as structlog.
with without("rich"):
    import structlog

_OURS = "turnloom"
_DATABASES = ("psycopg", "sqlalchemy")
_QUOTING = (ValueError, LookupError)
"""Python's errors whose messages quote the wrong value: texts of users, arguments, parts of URLs."""

log = structlog.stdlib.get_logger(_OURS)


class _ToStderr(logging.StreamHandler[TextIO]):
    """A handler that writes to the current standard error, which tests of commands replace."""

    @property
    def stream(self) -> TextIO:
        """Standard error."""
        return sys.stderr

    @stream.setter
    def stream(self, _: TextIO) -> None:
        """Ignore an assignment."""


class _Format(structlog.stdlib.ProcessorFormatter):
    """A formatter that brings other libraries' lines into our format; ours arrive as fields and are only written."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        if record.name != _OURS or not isinstance(record.msg, dict):
            return super().format(record)
        return str(self.processors[-1](None, "", record.msg))


def configure_logging() -> None:
    """Send our logs and those of other libraries to standard error, in one format."""
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.ExceptionRenderer(lambda info: format_error(info[1])),
    ]
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer() if settings().log_format == "json" else structlog.dev.ConsoleRenderer()
    )
    structlog.configure(
        processors=[*shared, _as_fields],
        logger_factory=logging.getLogger,
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    for chatty in ("alembic", "celery", "kombu", "httpx2", "httpcore2"):
        logging.getLogger(chatty).setLevel(logging.WARNING)  # their line per task or call adds nothing to ours
    # It repeats, with its message, an error that `workers.broker.app` logs.
    logging.getLogger("celery.app.trace").setLevel(logging.CRITICAL)
    handler = _ToStderr()
    handler.setFormatter(_Format(processor=renderer, foreign_pre_chain=shared))
    logging.basicConfig(level=settings().log_level, handlers=[handler], force=True)


def format_error(error: BaseException) -> str:
    """Return the traceback of an error, without messages that may hold somebody's data.

    An error of the database is shown by its class and SQLSTATE: the rest names values, rows and parameters.
    """
    return "".join(_parts(error, set())).rstrip()


def _parts(error: BaseException, seen: set[int]) -> Iterator[str]:
    seen.add(id(error))
    before = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if before is not None and id(before) not in seen:
        yield from _parts(before, seen)
        yield f"\n{'which led to' if error.__cause__ else 'while it was handled'}:\n\n"
    yield "Traceback (most recent call last):\n"
    yield from traceback.format_tb(error.__traceback__)
    yield f"{_named(error)}\n"
    for number, part in enumerate(error.exceptions if isinstance(error, BaseExceptionGroup) else ()):
        if id(part) not in seen:
            yield f"\nof these, number {number + 1}:\n\n"
            yield from _parts(part, seen)


def _named(error: BaseException) -> str:
    kind = type(error)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    packages = {base.__module__.partition(".")[0] for base in kind.__mro__}
    if packages.intersection(_DATABASES):
        state = getattr(getattr(error, "orig", error), "sqlstate", None)
        return f"{name} (SQLSTATE {state})" if state else name
    return name if isinstance(error, _QUOTING) else f"{name}: {error}"


def _as_fields(_: object, __: str, fields: structlog.typing.EventDict) -> tuple[tuple[Any], dict[str, Any]]:
    """Hand the fields to the standard library's logger: a fault in its handler stops nobody."""
    return (fields,), {}
