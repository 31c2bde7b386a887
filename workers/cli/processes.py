"""Become a production process: `turnloom web`, `worker`, `beat`, `flower`.

Each replaces the process of the command, so that signals reach it.
"""

import os

import click

from turnloom.models.errors import Unavailable
from turnloom.models.runtime.logging import log
from turnloom.models.runtime.settings import settings
from turnloom.workers.broker.command_lines import beat_command, flower_command, web_command, worker_command
from turnloom.workers.upkeep import liveness_file


@click.command
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option("--port", default=8000, show_default=True, help="Port to listen at.")
@click.option("--processes", default=2, show_default=True, help="Worker processes of the web server.")
def web(host: str, port: int, processes: int) -> None:
    """Serve the API."""
    from turnloom.workers.upkeep.preflight import check_parts  # noqa: PLC0415 - heavy: a probe must not pay for it

    check_parts()
    if lacking := _lacking():
        log.warning("database.not_ready", reason=lacking)
    _become(web_command(bind=f"{host}:{port}", processes=processes))


@click.command
@click.option("--queues", default="", help="Queues to work on, separated by commas.")
@click.option(
    "--pool",
    type=click.Choice(["threads", "prefork"]),
    default="threads",
    show_default=True,
    help="Threads for tasks that wait, processes for tasks that compute.",
)
@click.option("--concurrency", default=16, show_default=True, help="Tasks at a time.")
@click.option("--name", help="Name of this worker, unique on this machine.  [default: the first queue]")
@click.option("--check", is_flag=True, help="Start nothing; exit 0 if that worker, or each one here, is alive.")
def worker(queues: str, pool: str, concurrency: int, name: str | None, check: bool) -> None:
    """Work on the tasks of some queues, or check whether a worker on this machine is alive."""
    wanted = [queue.strip() for queue in queues.split(",") if queue.strip()]
    if check:
        _tell("worker", name or next(iter(wanted), None))
        return
    if not wanted:
        raise click.BadParameter("name at least one queue", param_hint="--queues")
    # A probe must not load these.
    from turnloom.workers.upkeep.preflight import check_language_model, check_parts, check_queues  # noqa: PLC0415 - heavy, see above

    check_queues(wanted)
    check_language_model(wanted)
    check_parts()
    if lacking := _lacking():
        raise click.ClickException(lacking)
    _become(worker_command(wanted, name=name or wanted[0], pool=pool, concurrency=concurrency))


@click.command
@click.option("--check", is_flag=True, help="Start nothing; exit with 0 if beat is alive on this machine.")
def beat(check: bool) -> None:
    """Send the periodic tasks. Run exactly one."""
    if check:
        _tell("beat")
        return
    settings()
    _become(beat_command())


@click.command
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option("--port", default=5555, show_default=True, help="Port to listen at.")
def flower(host: str, port: int) -> None:
    """Show queues, workers and tasks in Flower. FLOWER_BASIC_AUTH=name:password protects it by a password."""
    _become(flower_command(host=host, port=port))


def _lacking() -> str | None:
    """Return a sentence if the database must be migrated first. If it does not answer, we wait for it later."""
    # This import is here because a probe of a worker must not load SQLAlchemy.
    from turnloom.models.connections.database import close_connections, transaction  # noqa: PLC0415 - see above
    from turnloom.models.ledger import readiness  # noqa: PLC0415 - see above

    try:
        with transaction() as db:
            return readiness.unmigrated(db)
    except Unavailable as error:
        log.warning("database.unreachable", reason=f"{error}; this process waits for it")
        return None
    finally:
        close_connections()


def _tell(kind: liveness_file.Kind, name: str | None = None) -> None:
    alive = liveness_file.check(kind, name)
    click.echo(f"alive: {alive} {kind}{'' if alive == 1 else 's'}")


def _become(command: list[str]) -> None:
    os.execv(command[0], command)  # noqa: S606 - our own command
