"""Structured logs: an event is `noun.past_participle`, the rest are fields.

Ids are bound once, at the edge (`structlog.contextvars.bound_contextvars`). Never message text, phone numbers, secrets.
"""

import logging
import sys
from typing import Any, TextIO

import structlog

from models.settings import settings

_OURS = "turnloom"
log = structlog.stdlib.get_logger(_OURS)


class _ToStderr(logging.StreamHandler[TextIO]):
    """Writes to what standard error is at the time, as tests of commands change it."""

    @property
    def stream(self) -> TextIO:
        """Standard error."""
        return sys.stderr

    @stream.setter
    def stream(self, _: TextIO) -> None:
        """Stay with it."""


class _Format(structlog.stdlib.ProcessorFormatter):
    """Brings everybody else's lines into our format; ours come as fields and need no more than to be written."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        if record.name != _OURS or not isinstance(record.msg, dict):
            return super().format(record)
        return str(self.processors[-1](None, "", record.msg))


def configure_logging() -> None:
    """Send our logs and everybody else's to standard error, in one format."""
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
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
    for chatty in ("celery", "kombu", "httpx2", "httpcore2"):
        logging.getLogger(chatty).setLevel(logging.WARNING)  # a line per task or call says nothing that ours do not
    handler = _ToStderr()
    handler.setFormatter(_Format(processor=renderer, foreign_pre_chain=shared))
    logging.basicConfig(level=settings().log_level, handlers=[handler], force=True)


def _as_fields(_: object, __: str, fields: structlog.typing.EventDict) -> tuple[tuple[Any], dict[str, Any]]:
    """Hand the fields to the standard library's logger, whose handler writes them: a fault in that stops nobody."""
    return (fields,), {}
