"""The contract of a tool, as cases: what it takes, refuses, asks for and fails with.

Each shipped pack has one module here, named after it, which is all data:

    CONTRACT = {
        "dates.resolve_hint": [
            Valid({"hint": "tomorrow"}, gives={"check_in": "2026-11-21", "tz": ...}),
            Refused({"hint": "tomorrow", "timezone": "Mars/Olympus"}, "timezone"),
            Asks({"hint": "some day"}, "hint"),
            Fails({"hint": "tomorrow"}, "UPSTREAM_5XX", given=calendar_down),
        ],
    }

`test_contracts.py` runs them through the runner, as a worker does, each on an empty database, unless the module's set
`WITHOUT_DATABASE` names the tool: emptying a database takes time. The test fails if a tool of the pack has no `Valid`
case, if a code in its `errors=` has no `Fails` case or a field in its `asks=` no `Asks` case, if a case meets a code or
a field that the tool does not declare, and if a case belongs to no tool.

**Do not write** cases that are made from the input schema for every tool: a required argument that is missing, an
argument of another JSON type, one outside `ge`, `le`, `min_length`, `max_length` or a `Literal`, and an unknown one.
`Refused` is for arguments that a validator refuses.

**The world.** If all cases of a pack need something, such as rows or a provider, its module has a context manager
`world()`. What only one case needs is the case's `given`. Both are plain `@contextmanager` functions without arguments,
which undo their changes at the end; `with pytest.MonkeyPatch.context() as patch:` sets variables and attributes. What
`given` yields is passed to `args` and `context` if these are functions:

    Valid(lambda session: {"session_id": session.id, "selection_number": 1}, given=proposed_session)

The tenant of a call is `tests.tools.conftest.TENANT`; `context={"user": {"id": "u1"}, "time_s": 0.2}` changes fields of
its `ToolContext`, and the time that is left.

To run one pack: `pytest tests/tools/packs/contracts -k hotel`.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from turnloom.models.contracts.envelope import ErrorCode

World = Callable[[], AbstractContextManager[Any]]

Given = Mapping[str, Any] | Callable[[Any], Mapping[str, Any]]
"""A value, or a function that makes it from what the case's `given` yields."""


@dataclass(frozen=True)
class Case:
    """A call, and what it needs."""

    args: Given
    _: KW_ONLY
    given: World = nullcontext
    """The setup that the call needs beyond the pack's `world`."""
    context: Given = field(default_factory=dict)
    """Fields of the `ToolContext` that matter, and `time_s`."""


@dataclass(frozen=True)
class Valid(Case):
    """A call that succeeds."""

    _: KW_ONLY
    gives: Any = ...
    """The least content of its result: some fields of an object, every item of a list. `...` stands for anything."""


@dataclass(frozen=True)
class Refused(Case):
    """A call whose arguments are refused with BAD_ARGS."""

    field: str
    """The argument that the message names, such as `budget` or `budget.amount`."""


@dataclass(frozen=True)
class Asks(Case):
    """A call that only the user can complete."""

    needs: str | Mapping[str, Any]
    """The field that is asked for, or all fields with their choices or `...`."""


@dataclass(frozen=True)
class Fails(Case):
    """A call that ends in an error."""

    code: ErrorCode
    words: str = ""
    """A part of its message."""


Contract = Mapping[str, list[Case]]
"""The cases by tool. The first is `Valid`; its arguments are changed into the invalid ones."""
