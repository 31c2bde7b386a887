"""Translate the failures of servers and of the MCP library into our errors, which say whether to try again. Pure."""

import mcp_types as types
from mcp import MCPError
from pydantic import ValidationError

from turnloom.models.errors import NotFound, OutcomeUnknown, ToolFailed, TurnloomError, Unavailable
from turnloom.tools.mcp.client.transports import LastRefusal
from turnloom.tools.mcp.foreign_texts import clean

_SAID_NO = frozenset({types.METHOD_NOT_FOUND, types.INVALID_PARAMS, types.URL_ELICITATION_REQUIRED})
_BROKEN = frozenset({types.CONNECTION_CLOSED, types.PARSE_ERROR})
_FORGOTTEN = "Session terminated"
"""The library's message for a 404: the server has lost our session and did not handle the call."""


def unreachable(name: str, error: BaseException, refusal: LastRefusal) -> TurnloomError:
    """Return the error for a call that was not sent because there is no connection."""
    found = _innermost(error)
    if isinstance(found, NotFound):
        return ToolFailed(f"the MCP server {name}: {found}", code="UNAUTHORIZED")
    if isinstance(found, TurnloomError):
        return found
    said = _refused(name, refusal)
    return said or Unavailable(f"the MCP server {name} cannot be reached: {_told(found)}", code="UPSTREAM_5XX")


def failed(name: str, error: Exception, refusal: LastRefusal, *, may_repeat: bool) -> TurnloomError:
    """Return the error for a call that was sent and failed."""
    if isinstance(error, MCPError) and error.code in _SAID_NO:
        return ToolFailed(f"the MCP server {name} refuses the call: {_told(error)}", code="UPSTREAM_4XX")
    if isinstance(error, MCPError) and error.message == _FORGOTTEN:
        return Unavailable(f"the MCP server {name} has ended our session", code="UPSTREAM_5XX")
    if isinstance(error, MCPError) and (said := _refused(name, refusal)):
        return said
    message = f"the MCP server {name} failed: {_told(error)}"
    return Unavailable(message, code="UPSTREAM_5XX") if may_repeat else lost(message, "UPSTREAM_5XX")


def lost(message: str, code: str) -> OutcomeUnknown:
    """Return the error for a call that may have taken effect."""
    return OutcomeUnknown(f"{message}; whether the call took effect is not known", code=code)


def is_broken(error: Exception) -> bool:
    """Whether the connection cannot be used any more after a failed call."""
    if isinstance(error, MCPError):
        return error.code in _BROKEN or error.message == _FORGOTTEN
    return not isinstance(error, ValidationError)


def _refused(name: str, refusal: LastRefusal) -> TurnloomError | None:
    """Return the error for an HTTP status after which the call certainly took no effect; None for any other status."""
    match refusal.status:
        case 401 | 403:
            return ToolFailed(f"the MCP server {name} does not accept our credentials", code="UNAUTHORIZED")
        case 429:
            wait_s = float(refusal.retry_after) if refusal.retry_after.isdecimal() else None
            return Unavailable(f"the MCP server {name} limits our calls", code="RATE_LIMITED", retry_after_s=wait_s)
        case 521:
            return Unavailable(f"the MCP server {name} cannot be reached", code="UPSTREAM_5XX")
        case status if 400 <= status < 500:
            return ToolFailed(f"the MCP server {name} refuses the call with HTTP {status}", code="UPSTREAM_4XX")
    return None


def _innermost(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _told(error: BaseException) -> str:
    """Return a server's message, shortened; for other errors only the type, since their text may hold the arguments."""
    return clean(error.message, 200) if isinstance(error, MCPError) else type(error).__name__
