"""Run stacks for journeys, with every process and a client of their API."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

import httpx2
import pytest
from click.testing import CliRunner

from turnloom.models.connections.database import close_connections
from turnloom.models.runtime.settings import settings
from turnloom.workers.cli import main
from turnloom.workers.embedded.pid_files import signal_group
from turnloom.workers.embedded.stack import Stack, StackOptions


@contextmanager
def client_of_stack(tool_workers: int = 1, **settings: str) -> Iterator[httpx2.Client]:
    """Start a stack with these settings; yield a client with its development key."""
    options = StackOptions(data_dir=None, port=0, tool_workers=tool_workers, settings=settings)
    with Stack(options) as stack, client_of(stack) as client:
        yield client


def client_of(stack: Stack) -> httpx2.Client:
    """Return a client with the development key of a stack."""
    headers = {"Authorization": f"Bearer {stack.dev_key}"}
    # The API speaks plain HTTP. Verification would read all of the machine's certificate authorities for each client.
    return httpx2.Client(base_url=stack.url, headers=headers, timeout=40, verify=False)


@contextmanager
def environment_of(stack: Stack, **own: str) -> Iterator[pytest.MonkeyPatch]:
    """Give this process the settings of a stack's processes, and these; yield what can change them."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (stack.environment | own).items():
            patch.setenv(name, value)
        settings.cache_clear()
        close_connections()  # those to the database of an earlier test
        yield patch
        close_connections()
    settings.cache_clear()


@contextmanager
def frozen(pid: int | None) -> Iterator[None]:
    """Freeze a process with its children. The watchdog may end it meanwhile."""
    assert pid is not None
    signal_group(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        signal_group(pid, signal.SIGCONT)


def command(stack: Stack, *arguments: str, given: str = "") -> str:
    """Run `turnloom ARGUMENTS` on a stack; return what it prints.

    The stack's settings are this process's for no longer than that: a stack that starts meanwhile would share its
    queues.
    """
    with environment_of(stack):
        done = CliRunner().invoke(main, arguments, input=given)
    assert done.exit_code == 0, done.output
    return done.stdout
