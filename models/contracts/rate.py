"""Rates: how often something may happen."""

import re
from typing import Annotated

from pydantic import AfterValidator

_RATE = re.compile("([1-9][0-9]{0,5})/(second|minute|hour|day)")
_WINDOWS_S = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400}


def checked(rate: str) -> str:
    """Return a rate that can be read.

    Raises:
        ValueError: it cannot.
    """
    if not _RATE.fullmatch(rate):
        raise ValueError(f"{rate!r} is not a rate; write it like 5/minute")
    return rate


Rate = Annotated[str, AfterValidator(checked)]
"""A number of times per `second`, `minute`, `hour` or `day`, such as `5/minute`."""


def times_and_window_s(rate: Rate) -> tuple[int, int]:
    """Return how many times something may happen in how many seconds."""
    times, _, unit = rate.partition("/")
    return int(times), _WINDOWS_S[unit]
