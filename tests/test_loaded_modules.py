"""Each process loads only the libraries that it needs, because each one lengthens its start."""

import os
import subprocess
import sys

import pytest

_TOOLS = "from turnloom.tools.enabled_tools import enabled_tools; enabled_tools()"
_TASKS = (
    "import turnloom.workers.broker.celery_program, celery.bin.worker; from turnloom.workers.broker.app import app;"
    f" app.loader.import_default_modules(); {_TOOLS}"
)
_BEAT = (
    "import turnloom.workers.broker.celery_program, celery.bin.beat; from turnloom.workers.broker.beat import app;"
    " app.backend; app.loader.import_default_modules()"
)
_WEB = "from turnloom.web.app import create_app; create_app()"
_HELP = "from turnloom.workers.cli import main; main(['worker', '--help'], standalone_mode=False)"
_TERMINAL = {"rich", "pygments"}
_MIGRATIONS = {"alembic", "mako"}
_CALLS = {"httpx2", "http.cookiejar", "openai", "cryptography.fernet", "defusedxml"}
"""The modules of processes that call a service or a language model, or read a secret."""
_PACKS = {"caldav", "icalendar", "trafilatura", "turnloom.tools.packs.hotel.commands"}
_MCP = {"mcp", "mcp_types", "anyio", "uvicorn", "jsonschema", "turnloom.tools.mcp.tool_import"}


@pytest.mark.parametrize(
    ("start", "unwanted"),
    [
        (_TASKS, {*_TERMINAL, *_MIGRATIONS, *_CALLS, *_PACKS, *_MCP, "flask", "flower"}),
        (_WEB, {*_TERMINAL, *_MIGRATIONS, *_CALLS, *_PACKS, *_MCP, "celery.bin"}),
        ("import turnloom.web.gunicorn_conf, turnloom.web.gunicorn_worker", {"turnloom.models", "werkzeug"}),
        (_BEAT, {*_TERMINAL, *_MIGRATIONS, *_CALLS, "sqlalchemy", "psycopg", "turnloom.workers.execution"}),
        ("import turnloom.workers.cli.processes", {"sqlalchemy", "psycopg", "celery", "redis"}),
        (_HELP, {"turnloom.tools.packs.hotel", "rich"}),
        ("import turnloom.workers.cli.up", {*_MIGRATIONS, "openai"}),
        ("import turnloom.workers.cli.mcp", {"mcp", "mcp_types", "anyio", "uvicorn"}),
        ("import turnloom.workers.cli.doctor", {"openai", "turnloom.workers.broker.app"}),
    ],
    ids=["worker", "web", "gunicorn", "beat", "probe", "command", "up", "mcp", "doctor"],
)
def test_no_process_loads_what_it_does_not_use(start: str, unwanted: set[str]) -> None:
    """Imports inside functions serve this: a process that never calls the function starts without the library."""
    command = [sys.executable, "-c", f"{start}; import sys; print(*sys.modules)"]
    # A variable that only a pack knows makes the command load the packs, to find out whether it is misspelt.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TURNLOOM_")}

    run = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)

    loaded = set(run.stdout.split())

    assert loaded & unwanted == set()
