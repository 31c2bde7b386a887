"""Periods on the command line."""

import re
from datetime import timedelta
from typing import Any

import click

_UNITS = {"m": "minutes", "h": "hours", "d": "days"}


class Span(click.ParamType[timedelta]):
    """A number of minutes, hours or days, such as `24h`."""

    name = "span"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> timedelta:
        if isinstance(value, timedelta):
            return value
        found = re.fullmatch(r"([1-9]\d{0,3})([mhd])", value)
        if found is None:
            self.fail(f"{value!r} is not a period; write 30m, 24h or 7d", param, ctx)
        return timedelta(**{_UNITS[found[2]]: int(found[1])})
