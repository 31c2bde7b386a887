"""The settings of every session with Postgres, its statements, and the meaning of its failures."""

from typing import Any, Self

import psycopg
from psycopg.abc import Params

from turnloom.models.errors import Unavailable
from turnloom.models.runtime.settings import settings
from turnloom.models.schema import functions

_IDLE_TIMEOUT_MS = 10_000
"""After this time the locks of a process that was stopped in the middle of a transaction are free again."""
_STATEMENT_TIMEOUT_MS = 30_000
_DEAD_PEER = {"tcp_user_timeout": 15_000, "keepalives_idle": 10, "keepalives_interval": 3, "keepalives_count": 3}
"""A server that vanished silently is noticed within 20 s. (libpq: the first in ms, the others in s)"""


def session_settings() -> dict[str, str]:
    """Return the settings of our sessions, in the units of `pg_settings`."""
    return {
        "TimeZone": "UTC",
        "statement_timeout": str(_STATEMENT_TIMEOUT_MS),
        "idle_in_transaction_session_timeout": str(_IDLE_TIMEOUT_MS),
    }


def session_arguments() -> dict[str, Any]:
    """Return the arguments for opening a connection.

    Behind a pooler nothing is prepared, because the next statement may meet another server process, and the settings
    are the role's defaults (`turnloom migrate` sets them), because a client may not name them at its start.
    """
    ours = {"application_name": "turnloom", "cursor_factory": Cursor, **_DEAD_PEER}
    if settings().database_pooled:
        return {**ours, "prepare_threshold": None}
    return {**ours, "options": " ".join(f"-c {name}={value}" for name, value in session_settings().items())}


def unanswered(error: BaseException) -> Unavailable:
    """Return our error for a driver's error that means that Postgres does not answer."""
    words = str(error).strip().split("\n", 1)[0]
    if "unsupported startup parameter" in words:
        words += "; a pooler stands in front of Postgres: set TURNLOOM_DATABASE_POOLED=true"
    return Unavailable(f"Postgres does not answer: {words}", code="database_unavailable")


def outdated() -> Unavailable:
    """Return our error for a database without the functions of this version."""
    lacking = f"the database has no functions of this version ({functions.schema()}); run `turnloom migrate`"
    return Unavailable(lacking, code="database_outdated")


class Cursor(psycopg.Cursor[Any]):
    """A cursor whose statements call the functions of this version."""

    def execute(
        self,
        query: Any,
        params: Params | None = None,
        *,
        prepare: bool | None = None,
        binary: bool | None = None,
    ) -> Self:
        named = functions.of_this_version(query) if isinstance(query, str) else query
        return super().execute(named, params, prepare=prepare, binary=binary)
