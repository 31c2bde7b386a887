"""Row-level security: a transaction that serves tenants takes a role of Postgres that sees their rows and no others.

The role is `turnloom_tenant`; the setting `turnloom.tenants` names the tenants. Both are set for one transaction, which
works behind a pooler, too. `models/schema/policies.py` makes the role and the tables' policies.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Self
from uuid import UUID

import psycopg
from psycopg.abc import Params

from turnloom.models.connections.postgres_sessions import Cursor
from turnloom.models.errors import Unavailable

TENANT_ROLE = "turnloom_tenant"
"""The role that sees only the rows of the tenants that its transaction names. Nobody logs in as it."""
TENANTS = "turnloom.tenants"
"""The setting that names the tenants of a transaction, as an array of their ids."""

_TAKE = f"SELECT set_config('{TENANTS}', %s, true), set_config('role', '{TENANT_ROLE}', true)".encode()


def begin(connection: psycopg.Connection, mode: str, tenants: Collection[UUID] | None) -> None:
    """Begin a transaction in one round trip. `tenants`: those whose rows it sees; None: all.

    `mode` is what Postgres' BEGIN takes, such as `READ ONLY`.

    Raises:
        Unavailable: the application's role may not take that of the tenants.
    """
    # Otherwise the driver would send a BEGIN of its own before.
    connection.autocommit = True
    command = f"BEGIN {mode}"
    if tenants is not None:
        command += f"; SET LOCAL ROLE {TENANT_ROLE}; SET LOCAL {TENANTS} = '{_array(tenants)}'"
    with _role_faults():
        connection.execute(command.encode(), prepare=False)


@contextmanager
def serving(connection: psycopg.Connection, tenants: Collection[UUID] | None) -> Iterator[None]:
    """Let each statement on a connection in autocommit see the rows of these tenants only; None: those of all."""
    if tenants is None:
        yield
        return
    every = connection.cursor_factory
    connection.cursor_factory = partial(_TenantCursor, tenants=_array(tenants))  # type: ignore[assignment]
    try:
        yield
    finally:
        connection.cursor_factory = every


class _TenantCursor(Cursor):
    """A cursor whose statements see the rows of some tenants only. A statement still takes one round trip."""

    def __init__(self, connection: Any, *, tenants: str, **options: Any) -> None:
        super().__init__(connection, **options)
        self._tenants = tenants

    def execute(
        self,
        query: Any,
        params: Params | None = None,
        *,
        prepare: bool | None = None,
        binary: bool | None = None,
    ) -> Self:
        # What a pipeline sends together is one transaction.
        with _role_faults(), self.connection.pipeline():
            _role_cursor(self.connection).execute(_TAKE, (self._tenants,), prepare=True)
            super().execute(query, params, prepare=prepare, binary=binary)
        return self


def _role_cursor(connection: psycopg.Connection) -> psycopg.Cursor:
    """Return a cursor that the connection keeps: it reads the statement once, which is half of what taking costs."""
    kept: psycopg.Cursor | None = vars(connection).get("role_cursor")
    if kept is None:
        kept = vars(connection)["role_cursor"] = psycopg.Cursor(connection)
    return kept


def _array(tenants: Collection[UUID]) -> str:
    return "{%s}" % ",".join(map(str, tenants))  # noqa: UP031 - braces


@contextmanager
def _role_faults() -> Iterator[None]:
    """Turn the error of a role that is missing, or may not be taken, into a sentence that says what to do."""
    try:
        yield
    except psycopg.Error as error:
        # Of all our errors only this one names the role.
        if TENANT_ROLE not in str(error):
            raise
        raise lacking_role() from error


def lacking_role() -> Unavailable:
    """Return our error for a database in which the application's role may not take the tenants' role."""
    return Unavailable(
        f"row-level security is not set up: the application may not take the role {TENANT_ROLE}; run"
        " `turnloom migrate`",
        code="row_security_missing",
    )
