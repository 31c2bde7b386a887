"""A fault file says what goes wrong, in a way that is the same each time.

seed: 7
faults:                                                      # of tool calls
- {tool: "pms.*", chance: 0.2, delay_ms: 3000}
- {tool: travel.lookup_weather, nth: 2, error: {code: UPSTREAM_5XX, message: the service is down}}
- {tool: "*", chance: 0.01, malformed: true}
duplicates:
- {queue: "tools.*", chance: 0.1}                            # a task's message comes twice
- {path: /v1/turns, chance: 0.1}                             # a client posts the same again
restarts:                                                    # processes die, and are started again
- {process: "worker-*", every_s: [1, 3]}
- {at: plan.recorded, nth: 5}

Replays read `faults`, for calls that they simulate. The embedded stack reads all of it (`turnloom up --faults`).
"""

import hashlib
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Annotated, Self

import yaml
from pydantic import Field, ValidationError, model_validator

from turnloom.models.contracts.base import Contract
from turnloom.models.contracts.envelope import ErrorCode
from turnloom.models.errors import Invalid
from turnloom.models.runtime.value_faults import faults_of
from turnloom.models.runtime.yaml_text import read_plain_yaml

Pattern = Annotated[str, Field(min_length=1, max_length=200)]
"""A name, or a pattern with `*` and `?`."""
Seconds = Annotated[float, Field(ge=0, le=86_400, allow_inf_nan=False)]

_MOST = 1_000


class FaultError(Contract):
    """The failure of a call."""

    code: ErrorCode
    message: str = "simulated by a fault file"


class Strike(Contract):
    """The choice of those that a fault strikes. Without `chance` and `nth`, it strikes all."""

    chance: float | None = Field(None, ge=0, le=1)
    """The share of them, chosen by the seed."""
    nth: int | None = Field(None, ge=1)
    """Only the nth, counted from 1 since the stack has started."""
    seed: int | None = None
    """In place of the file's."""

    @model_validator(mode="after")
    def chooses_one_way(self) -> Self:
        """Refuse a fault that names both ways to choose."""
        if self.chance is not None and self.nth is not None:
            raise ValueError("give `chance` or `nth`, not both; without either, all are meant")
        return self

    def strikes(self, place: str, number: int, seed: int) -> bool:
        """Return whether it strikes one of those that it may strike.

        `place` names that one, the same in each run; `number` is its number among them.
        """
        if self.nth is not None:
            return number == self.nth
        return self.chance is None or drawn(f"{self.seed if self.seed is not None else seed}|{place}") < self.chance


class ToolFault(Strike):
    """Something that goes wrong with some calls of tools."""

    tool: Pattern
    """A tool's name, or a pattern with `*` and `?`."""
    nth: int | None = Field(None, ge=1)
    """Only the nth call of its turn, from 1, counting the calls that the pattern matches."""
    delay_ms: int | None = Field(None, ge=1, le=3_600_000)
    """Time that the call takes longer."""
    error: FaultError | None = None
    """The call fails."""
    malformed: bool = False
    """The result is none that the tool may return, and the call fails with INTERNAL_ERROR."""

    @model_validator(mode="after")
    def says_what(self) -> Self:
        """Refuse a fault that does nothing, or that fails in two ways."""
        if self.error is not None and self.malformed:
            raise ValueError("give `error` or `malformed`, not both")
        if not (self.delay_ms or self.error or self.malformed):
            raise ValueError("say what goes wrong: `delay_ms`, `error` or `malformed`")
        return self


class Duplicate(Strike):
    """Something that comes twice: messages of tasks, or posts of clients."""

    queue: Pattern | None = None
    """The queue of the messages, such as `tools.io`, or a pattern. The broker delivers each twice."""
    within_ms: int | None = Field(None, ge=0, le=60_000)
    """With `queue`: the second delivery comes at most this much later, chosen by the seed. By default 500."""
    path: Pattern | None = None
    """The path of the posts, such as `/v1/turns`, or a pattern. The client has not heard the first answer."""

    @model_validator(mode="after")
    def says_what(self) -> Self:
        """Refuse a duplicate of nothing, and one of two things."""
        if (self.queue is None) == (self.path is None):
            raise ValueError("say what comes twice: either `queue` or `path`")
        if self.within_ms is not None and self.queue is None:
            raise ValueError("`within_ms` goes with `queue`")
        return self


class Restart(Contract):
    """A process of the embedded stack that is killed, as by `kill -9`, and started again."""

    process: Pattern | None = None
    """The name of the process, such as `worker-io-1`, or a pattern. Of several, the seed chooses one each time."""
    after_s: Seconds | None = None
    """With `process`: once, this long after the stack is ready."""
    every_s: list[Seconds] | None = Field(None, min_length=2, max_length=2)
    """With `process`: again and again, after pauses between these two that the seed chooses."""
    at: str | None = Field(None, pattern="^[a-z_]+[.][a-z_]+$", max_length=64)
    """A crash point, such as `plan.recorded`: the process that reaches it dies there, once. Those of a file happen one
    after another, in its order."""
    nth: int | None = Field(None, ge=1)
    """With `at`: only the nth time that the point is reached, by whichever process."""

    @model_validator(mode="after")
    def says_whom_and_when(self) -> Self:
        """Refuse a restart of nobody, one at no time, and one at two."""
        if (self.process is None) == (self.at is None):
            raise ValueError("say who dies: either `process`, or `at` a crash point")
        if (self.process is not None) != ((self.after_s is None) != (self.every_s is None)):
            raise ValueError("say when with `after_s` or `every_s`, one of them, and only for a `process`")
        if self.nth is not None and self.at is None:
            raise ValueError("`nth` goes with `at`")
        if self.every_s is not None and not 0 < self.every_s[1] >= self.every_s[0]:
            raise ValueError("`every_s` is [shortest, longest], and the longest is above 0")
        return self


class FaultFile(Contract):
    """The faults of a stack or a replay. Each fault that strikes a tool call counts; of failures, the first."""

    seed: int = 0
    """It decides what is struck by chance, and when."""
    faults: list[ToolFault] = Field([], max_length=_MOST)
    """What goes wrong with tool calls."""
    duplicates: list[Duplicate] = Field([], max_length=_MOST)
    """What comes twice. Only the embedded stack has any use for it."""
    restarts: list[Restart] = Field([], max_length=_MOST)
    """Which processes die. Likewise."""

    @model_validator(mode="after")
    def says_something(self) -> Self:
        """Refuse a file without faults."""
        if not (self.faults or self.duplicates or self.restarts):
            raise ValueError("the file names nothing that goes wrong: give `faults`, `duplicates` or `restarts`")
        return self

    def matching(self, tool: str) -> Iterator[tuple[int, ToolFault]]:
        """Yield the faults that may strike a tool's call, with their places in the file."""
        return ((place, fault) for place, fault in enumerate(self.faults) if fnmatchcase(tool, fault.tool))

    @property
    def crash_points(self) -> list[str]:
        """The crash points at which processes die, as the file that `TURNLOOM_CRASH_AT` names lists them."""
        return [f"{each.at} {each.nth}" if each.nth else each.at for each in self.restarts if each.at]


def read_fault_file(text: str) -> FaultFile:
    """Read a fault file, which is YAML.

    Raises:
        Invalid: it is not YAML, or not a fault file; the message names the field.
    """
    try:
        return FaultFile.model_validate(read_plain_yaml(text))
    except yaml.YAMLError as error:
        raise Invalid(f"the fault file is not YAML: {error}") from error
    except ValidationError as error:
        raise Invalid(f"the fault file is wrong: {faults_of(error, 'file')}") from error


def drawn(text: str) -> float:
    """Return a number from 0 to 1 that depends on nothing but the text."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big") / 2**48
