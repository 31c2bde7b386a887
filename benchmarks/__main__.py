"""Run benchmarks: `python -m benchmarks [makespan] [plans] [turns] [ack] [--short] [--json]`.

All of them use one stack. Tables go to stdout, progress to stderr.
"""

import dataclasses
import sys
from collections.abc import Callable

import click
import orjson

from benchmarks import ack, makespan, plans, turns
from benchmarks.measuring import Table, refuse_failures, stack
from workers.embedded import Stack

_BENCHMARKS: dict[str, Callable[[Stack, bool], Table]] = {
    "makespan": makespan.run,
    "plans": plans.run,
    "turns": turns.run,
    # Last, because it stops the workers.
    "ack": ack.run,
}


@click.command
@click.argument("names", nargs=-1, type=click.Choice(list(_BENCHMARKS)))
@click.option("--short", is_flag=True, help="Fewer and shorter rounds: all of them in about a minute.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON list instead of tables.")
def main(names: tuple[str, ...], short: bool, as_json: bool) -> None:
    """Measure, each figure against a baseline of the same minute; without names, everything."""
    if sys.platform != "linux":
        raise click.UsageError("the benchmarks read CPU times from /proc, which Linux only has")
    tables = []
    with stack() as ours:
        for name, benchmark in _BENCHMARKS.items():
            if names and name not in names:
                continue
            table = benchmark(ours, short)
            refuse_failures(ours)
            tables.append(dataclasses.asdict(table))
            if not as_json:
                click.echo(f"\n{table.markdown()}")
    if as_json:
        click.echo(orjson.dumps(tables, option=orjson.OPT_INDENT_2))


if __name__ == "__main__":
    main()
