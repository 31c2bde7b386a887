"""Become Celery's worker or beat: `python -m workers.celery_program worker OPTION…`.

What `celery worker` does, without what the other programs of that command import, which is a fifth of a worker's start.
"""

import importlib
import sys

import click
from celery.bin.base import CLIContext

_APPLICATIONS = {"worker": "workers.app", "beat": "workers.beat"}


def main(program: str, options: list[str]) -> None:
    """Run the program with our application until it is stopped."""
    command: click.Command = getattr(importlib.import_module(f"celery.bin.{program}"), program)
    application = importlib.import_module(_APPLICATIONS[program]).app
    command.main(options, prog_name=f"celery {program}", obj=CLIContext(application, no_color=True, workdir=None))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
