"""Record the figures in benchmarks/README.md, which has a place for each benchmark."""

import os
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.figures import Table

_README = Path(__file__).with_name("README.md")


def dated(table: Table, *, short: bool) -> Table:
    """Add when and how the table was measured, and the machine's load at the end."""
    load = ", ".join(f"{average:.1f}" for average in os.getloadavg())
    run = "A short run" if short else "A full run"
    stamp = f"{run} of {datetime.now(UTC):%d %B %Y, %H:%M} UTC; load average over 1, 5 and 15 minutes: {load}."
    return replace(table, note=f"{table.note} {stamp}".strip())


def record(name: str, table: Table, page: Path = _README) -> None:
    """Write a table into its place on the page.

    Raises:
        ValueError: the page has no place for it.
    """
    place = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
    text, found = place.subn(lambda match: f"{match[1]}{table.markdown()}{match[2]}", page.read_text())
    if not found:
        raise ValueError(f"{page} has no place for the table of {name}")
    page.write_text(text)
