"""Scheduling: one process runs all tests on a shared stack, because starting a stack is slow."""

import re
from pathlib import Path

from xdist.scheduler import LoadScopeScheduling

_APART = {
    "asking": re.compile(r"""\b(asking(_dense|_stack)?|dense)[:"]"""),
    "others": re.compile(r"-> Iterator\[Stack\]:|\bodd_stack:"),
}
"""Uses of stacks with a scripted language model, and of others that few modules share."""
_WITH_STACKS = ("tests/journeys/", "tests/docs/", "tests/browser/", "tests/workers/embedded/test_stack")


class ByStack(LoadScopeScheduling):  # type: ignore[misc]
    """A scheduling that gives one process all tests on a shared stack, and any other module as a whole."""

    def _split_scope(self, nodeid: str) -> str:
        return scope_of(self.config.rootpath, nodeid)


def scope_of(root: Path, nodeid: str) -> str:
    """Return the name of the group of tests, all run by one process, to which a test belongs."""
    module = nodeid.partition("::")[0]
    if not module.startswith(_WITH_STACKS):
        return module
    text = (root / module).read_text("utf-8")
    return next((scope for scope, use in _APART.items() if use.search(text)), "stack")
