"""Report at the end of a long run how its time was spent: by folder, by fixture and by process."""

import time
from collections import Counter
from collections.abc import Generator
from typing import Any

import pytest

_LONG_S = 60.0
"""The time below which a run is not reported."""
_ROWS = 12


class TimeReport:
    """The seconds of tests and of the setup of fixtures, from all processes of a run."""

    def __init__(self) -> None:
        self._folders: Counter[str] = Counter()
        self._processes: Counter[str] = Counter()
        self._fixtures: Counter[str] = Counter()
        self._setups: Counter[str] = Counter()

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[object]) -> Generator[None, object, object]:
        """Measure the setup of one fixture. The fixtures that it uses are set up before."""
        began = time.perf_counter()
        try:
            return (yield)
        finally:
            self._fixtures[fixturedef.argname] += time.perf_counter() - began
            self._setups[fixturedef.argname] += 1

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add a test's setup, call or teardown."""
        path = report.nodeid.partition("::")[0]
        self._folders["/".join(path.split("/")[:3][: path.count("/")])] += report.duration
        self._processes[getattr(report, "worker_id", "one process")] += report.duration

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Hand the times of fixtures to the process that reports them."""
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["fixtures"] = (dict(self._fixtures), dict(self._setups))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take the times of fixtures from a process."""
        fixtures, setups = getattr(node, "workeroutput", {}).get("fixtures", ({}, {}))
        self._fixtures.update(fixtures)
        self._setups.update(setups)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the report."""
        if self._folders.total() < _LONG_S:
            return
        terminalreporter.section("seconds")
        for name, seconds in self._processes.most_common():
            terminalreporter.line(f"{seconds:7.1f}  {name}")
        for name, seconds in self._folders.most_common(_ROWS):
            terminalreporter.line(f"{seconds:7.1f}  {name}")
        for name, seconds in self._fixtures.most_common(_ROWS):
            terminalreporter.line(f"{seconds:7.1f}  {self._setups[name]} times the fixture {name}")
