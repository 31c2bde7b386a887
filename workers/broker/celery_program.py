"""A program that runs Celery's worker or beat: `python -m turnloom.workers.broker.celery_program APP worker …`.

It does the same as `celery -A workers.broker.app worker`, but does not import the other programs of that command, which
take a tenth of a worker's start and memory.
"""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from turnloom.models.errors import Misconfigured
from turnloom.models.runtime.lean_imports import loading, without

# Pygments colours the output of `celery inspect`.
with without("pygments"):
    from celery.bin.base import CLIContext


def main(application: str, program: str, options: list[str]) -> None:
    """Run a Celery program with the `app` of a module until it is stopped."""
    with loading(), _one_sentence():
        command: click.Command = getattr(importlib.import_module(f"celery.bin.{program}"), program)
        app = importlib.import_module(application).app
        app.loader.import_default_modules()
    command.main(options, prog_name=f"celery {program}", obj=CLIContext(app, no_color=True, workdir=None))


@contextmanager
def _one_sentence() -> Iterator[None]:
    """If the settings are wrong, end the process with a sentence and no traceback."""
    try:
        yield
    except Misconfigured as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(2)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
