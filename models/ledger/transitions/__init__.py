"""The ledger's functions in the database, and how they are called.

Every change of a turn, a step, a fragment or a reply is a function in the SQL files of this folder.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

import psycopg
from sqlalchemy.orm import Session

Connection = psycopg.Connection | Session


def call(db: Connection, function: str, /, **arguments: Any) -> Any:
    """Call a function and return its value. The argument `turn` is its parameter `p_turn`."""
    return _fetch(db, _query("SELECT hot.{}({})", function, tuple(arguments)), arguments)[0][0]


def call_rows(db: Connection, function: str, /, **arguments: Any) -> Sequence[Any]:
    """Call a function that returns a set, and return its rows."""
    return _fetch(db, _query("SELECT * FROM hot.{}({})", function, tuple(arguments)), arguments)


def _fetch(db: Connection, query: str, arguments: dict[str, Any]) -> Sequence[Any]:
    if isinstance(db, Session):
        return db.connection().exec_driver_sql(query, arguments).fetchall()
    return db.execute(query, arguments, prepare=True).fetchall()


@cache
def _query(form: str, function: str, parameters: tuple[str, ...]) -> str:
    """Return one text for each function, so that a connection prepares it once."""
    return form.format(function, ", ".join(f"p_{name} => %({name})s" for name in parameters))
