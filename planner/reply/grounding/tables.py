"""Read a table that stands in a result as text: CSV, Markdown, or columns that blanks align.

In: a text.  Out: the same with its rows as objects, so that an amount has the name of its column and belongs to its
row.
"""

import re
from collections.abc import Callable

_FEWEST_LINES, _MOST_LINES = 2, 300
_FEWEST_COLUMNS = 2
_RULE = re.compile(r"[\s|:+=-]+")
_GAP = re.compile(r"\t|\s{2,}")
_DIGIT = re.compile(r"\d")

Split = Callable[[str], list[str]]


class TableText(str):
    """A text that is a table, with its rows by the names of their columns."""

    rows: list[dict[str, str]]


def as_table(text: str) -> str:
    """Return a text with the rows of the table that it begins with, if it is one."""
    rows = rows_in(text)
    if rows is None:
        return text
    table = TableText(text)
    table.rows = rows
    return table


def rows_in(text: str) -> list[dict[str, str]] | None:
    """Return the rows of the table that a text begins with, by the names of its columns; None if it is none."""
    lines = [line for line in text.splitlines() if line.strip() and not _RULE.fullmatch(line)]
    if not _FEWEST_LINES <= len(lines) <= _MOST_LINES:
        return None
    for split in _SPLITS:
        names = split(lines[0])
        if len(names) < _FEWEST_COLUMNS or len(set(names)) < len(names) or not all(map(_is_name, names)):
            continue
        rows = [cells for line in lines[1:] if len(cells := split(line)) == len(names)]
        if rows and len(rows) >= (len(lines) - 1) / 2:
            return [dict(zip(names, cells, strict=True)) for cells in rows]
    return None


def _is_name(cell: str) -> bool:
    return bool(cell) and not _DIGIT.search(cell)


def _by(mark: str) -> Split:
    return lambda line: [cell.strip() for cell in line.strip().strip("|" if mark == "|" else "").split(mark)]


def _by_gap(line: str) -> list[str]:
    return [cell for cell in _GAP.split(line.strip()) if cell]


_SPLITS: tuple[Split, ...] = (_by("|"), _by(";"), _by("\t"), _by_gap, _by(","))
