"""Times that callers write are read, and written again, as RFC 3339 in UTC."""

import pytest
from pydantic import BaseModel, ValidationError

from turnloom.models.contracts.base import GivenMoment


class Given(BaseModel):
    """A contract with a time."""

    at: GivenMoment


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("2026-11-20", "2026-11-20T00:00:00.000000Z"),
        ("2026-11-20T10:30:00+02:00", "2026-11-20T08:30:00.000000Z"),
        ("0664-08-19T22:50:41.06Z", "0664-08-19T22:50:41.060000Z"),
        ("0001-01-01", "0001-01-01T00:00:00.000000Z"),
    ],
)
def test_what_is_written_can_be_read_again(given: str, written: str) -> None:
    """A year has four digits, however long ago it is."""
    kept = Given(at=given).model_dump(mode="json")  # type: ignore[arg-type]

    assert kept == {"at": written}
    assert Given.model_validate(kept).model_dump(mode="json") == kept


@pytest.mark.parametrize("given", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_a_time_that_utc_does_not_have_is_refused(given: str) -> None:
    """The error says what is wrong with it."""
    with pytest.raises(ValidationError, match="outside the years 1 to 9999"):
        Given(at=given)  # type: ignore[arg-type]
