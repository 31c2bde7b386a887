"""Run benchmarks: `python -m benchmarks [road] [makespan] [ack] … [--short] [--json] [--record]`.

All of them share one stack; some start other stacks beside it. Tables go to stdout, progress to stderr.
"""

import dataclasses
import sys
from collections.abc import Callable

import click
import orjson

from benchmarks import (
    ack,
    burst,
    conversation,
    door,
    engine,
    fairness,
    growth,
    makespan,
    message,
    prompts,
    recorded_tables,
    recovery,
    replay,
    road,
    search,
    size,
    start,
    streaming,
    users,
)
from benchmarks.figures import Table
from benchmarks.stack import refuse_failures, stack
from turnloom.models.runtime.logging import configure_logging
from turnloom.workers.embedded.stack import Stack

BENCHMARKS: dict[str, Callable[[Stack, bool], Table]] = {
    "road": road.run,
    "makespan": makespan.run,
    "message": message.run,
    "size": size.run,
    "recovery": recovery.run,
    "prompts": prompts.run,
    "streaming": streaming.run,
    "conversation": conversation.run,
    "fairness": fairness.run,
    "burst": burst.run,
    "growth": growth.run,
    "search": search.run,
    "replay": replay.run,
    "door": door.run,
    "users": users.run,
    "start": start.run,
    # This one stops the workers, so it comes last.
    "ack": ack.run,
}
PROFILES: dict[str, Callable[[Stack, bool], Table]] = {"engine": engine.run}
"""Benchmarks that run only when named; their figures are not recorded."""


@click.command
@click.argument("names", nargs=-1, type=click.Choice([*PROFILES, *BENCHMARKS]))
@click.option("--short", is_flag=True, help="Run fewer and shorter rounds; all of them take a few minutes.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON list instead of tables.")
@click.option("--record", is_flag=True, help="Write the tables into benchmarks/README.md.")
def main(names: tuple[str, ...], short: bool, as_json: bool, record: bool) -> None:
    """Measure each figure against a baseline taken in the same minute; without names, run all but `engine`."""
    if sys.platform != "linux":
        raise click.UsageError("the benchmarks read CPU times from /proc; run them on Linux")
    configure_logging()
    tables = []
    with stack() as ours:
        for name, benchmark in {**PROFILES, **BENCHMARKS}.items():
            if name not in (names or BENCHMARKS):
                continue
            table = recorded_tables.dated(benchmark(ours, short), short=short)
            refuse_failures(ours)
            tables.append(dataclasses.asdict(table))
            if record and name in BENCHMARKS:
                recorded_tables.record(name, table)
            if not as_json:
                click.echo(f"\n{table.markdown()}")
    if as_json:
        click.echo(orjson.dumps(tables, option=orjson.OPT_INDENT_2))


if __name__ == "__main__":
    main()
