"""Each process loads only the libraries that it needs, because it pays for every one at its start."""

import subprocess
import sys

import pytest

_TASKS = (
    "import turnloom.workers.broker.celery_program, celery.bin.worker; from turnloom.workers.broker.app import app;"
    " app.loader.import_default_modules()"
)
_BEAT = (
    "import turnloom.workers.broker.celery_program, celery.bin.beat; from turnloom.workers.broker.beat import app;"
    " app.backend; app.loader.import_default_modules()"
)
_WEB = "from turnloom.web.app import create_app; create_app()"


@pytest.mark.parametrize(
    ("start", "unwanted"),
    [
        (_TASKS, {"rich", "pygments", "alembic", "mako", "flower"}),
        (_WEB, {"rich", "pygments", "alembic", "mako", "openai", "trafilatura", "celery.bin"}),
        (
            _BEAT,
            {"rich", "pygments", "alembic", "mako", "openai", "sqlalchemy", "psycopg", "turnloom.workers.execution"},
        ),
        ("import turnloom.workers.cli.up", {"alembic", "mako", "openai"}),
    ],
    ids=["worker", "web", "beat", "up"],
)
def test_no_process_loads_what_it_does_not_use(start: str, unwanted: set[str]) -> None:
    """A worker has no use for coloured tracebacks, a web server none for migrations, beat none for Postgres."""
    command = [sys.executable, "-c", f"{start}; import sys; print(*sys.modules)"]

    loaded = set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())

    assert loaded & unwanted == set()
