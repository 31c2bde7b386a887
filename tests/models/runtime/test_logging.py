"""A logged error says where it happened, and quotes nothing that people wrote."""

from collections.abc import Callable

import psycopg
import pytest
from pydantic import BaseModel
from sqlalchemy import text

from turnloom.models.connections.database import statement, transaction
from turnloom.models.errors import NotFound
from turnloom.models.runtime.logging import format_error
from turnloom.models.runtime.settings import settings

NEEDLE = "correct-horse-battery"


class Shape(BaseModel):
    """A model that no text fits."""

    number: int


def by_sqlalchemy() -> None:
    with transaction() as db:
        db.execute(text("SELECT CAST(:given AS integer)"), {"given": NEEDLE})


def by_the_driver() -> None:
    with statement() as db:
        db.execute("SELECT %s::integer", [NEEDLE])


def in_a_function() -> None:
    code = f"DO $$ BEGIN RAISE EXCEPTION 'no' USING DETAIL = '{NEEDLE}', HINT = '{NEEDLE}'; END $$"
    with psycopg.connect(settings().database_url) as db:
        db.execute(code.encode())


def by_a_shape() -> None:
    Shape.model_validate({"number": NEEDLE})


def by_a_key() -> None:
    {}[NEEDLE]


def by_a_number() -> None:
    int(NEEDLE)


@pytest.mark.parametrize(
    ("fails", "says"),
    [
        (by_sqlalchemy, "(SQLSTATE 22P02)"),
        (by_the_driver, "(SQLSTATE 22P02)"),
        (in_a_function, "(SQLSTATE P0001)"),
        (by_a_shape, "ValidationError"),
        (by_a_key, "KeyError"),
        (by_a_number, "ValueError"),
    ],
)
def test_an_error_that_quotes_is_named_and_not_quoted(database: str, fails: Callable[[], None], says: str) -> None:
    """This also holds if it caused another error, or is one of a group."""
    with pytest.raises(ExceptionGroup) as caught:
        _wrapped(fails)

    shown = format_error(caught.value)
    assert says in shown
    assert f"in {fails.__name__}" in shown
    assert "there is no such thing" in shown
    assert NEEDLE not in shown


def _wrapped(fails: Callable[[], None]) -> None:
    try:
        fails()
    except Exception as error:
        raise ExceptionGroup("several", [NotFound("there is no such thing"), error]) from error


def test_other_errors_keep_their_message() -> None:
    """Our own errors, and those whose messages are about the program, quote nobody."""
    missing = AttributeError("'NoneType' object has no attribute 'x'")
    shown = format_error(missing), format_error(NotFound("there is no turn"))

    assert "has no attribute 'x'" in shown[0]
    assert "turnloom.models.errors.NotFound: there is no turn" in shown[1]
