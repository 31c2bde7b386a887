"""Print what a command of `turnloom` found: tables for people, JSON for programs."""

from collections.abc import Mapping, Sequence
from typing import Any

import click
import orjson
from rich.console import Console
from rich.table import Table
from rich.text import Text

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
json_anyway = click.option("--json", is_flag=True, expose_value=False, help="Print JSON, which is the only format.")


def print_json(value: Any) -> None:
    """Print one JSON document, with ids and times as strings."""
    click.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode())


def print_rows(columns: Sequence[str], rows: Sequence[Mapping[str, Any]], *, as_json: bool) -> None:
    """Print rows that have the same columns."""
    if as_json:
        print_json([{column: row[column] for column in columns} for row in rows])
        return
    cells = [[_cell(row[column]) for column in columns] for row in rows]
    console = Console()
    if not console.is_terminal:
        # One row per line with whole values, for `cut` and `awk`.
        click.echo("\n".join("\t".join(row) for row in [columns, *cells]))
        return
    table = Table(*columns, box=None, pad_edge=False)
    for row in cells:
        table.add_row(*map(Text, row))  # brackets in a value are no markup
    console.print(table)


def _cell(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)
