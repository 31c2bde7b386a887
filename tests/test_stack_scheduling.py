"""No stack is started twice."""

from collections import defaultdict

import pytest

from tests.stack_scheduling import scope_of

STACKS = {"stack", "asking_stack", "dense", "odd_stack"}
"""The fixtures that start a stack for several modules."""


def test_one_process_runs_all_tests_of_a_stack(request: pytest.FixtureRequest) -> None:
    """A module that used two shared stacks would start one of them a second time, in another process."""
    scopes: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for item in request.session.items:
        assert isinstance(item, pytest.Function)
        for name in STACKS & set(item.fixturenames):
            fixture = item._fixtureinfo.name2fixturedefs[name][-1]
            if fixture.scope in ("session", "package"):
                scopes[name][scope_of(request.config.rootpath, item.nodeid)] = item.nodeid

    assert {name: of_stack for name, of_stack in scopes.items() if len(of_stack) > 1} == {}
