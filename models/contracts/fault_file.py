"""A fault file says what goes wrong with tool calls, in a way that is the same each time.

seed: 7
faults:
- {tool: "pms.*", chance: 0.2, delay_ms: 3000}
- {tool: travel.lookup_weather, nth: 2, error: {code: UPSTREAM_5XX, message: the service is down}}
- {tool: "*", chance: 0.01, malformed: true}
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


class FaultError(Contract):
    """The failure of a call."""

    code: ErrorCode
    message: str = "simulated by a fault file"


class ToolFault(Contract):
    """Something that goes wrong with some calls."""

    tool: Annotated[str, Field(min_length=1, max_length=200)]
    """A tool's name, or a pattern with `*` and `?`."""
    chance: float | None = Field(None, ge=0, le=1)
    """The share of calls, chosen by the seed."""
    nth: int | None = Field(None, ge=1)
    """Only the call of this number in its turn, from 1, counting the calls that the pattern matches."""
    seed: int | None = None
    """In place of the file's."""
    delay_ms: int | None = Field(None, ge=1, le=3_600_000)
    """Time that the call takes longer."""
    error: FaultError | None = None
    """The call fails."""
    malformed: bool = False
    """The result is none that the tool may return, and the call fails with INTERNAL_ERROR."""

    @model_validator(mode="after")
    def says_when_and_what(self) -> Self:
        """Refuse a fault that names both ways to choose calls, that does nothing, or that fails in two ways."""
        if self.chance is not None and self.nth is not None:
            raise ValueError("give `chance` or `nth`, not both; without either, all calls are meant")
        if self.error is not None and self.malformed:
            raise ValueError("give `error` or `malformed`, not both")
        if not (self.delay_ms or self.error or self.malformed):
            raise ValueError("say what goes wrong: `delay_ms`, `error` or `malformed`")
        return self

    def strikes(self, place: str, number: int, seed: int) -> bool:
        """Return whether it strikes a call.

        `place` names the call, the same in each replay; `number` is the call's among those that the pattern matches.
        """
        if self.nth is not None:
            return number == self.nth
        return self.chance is None or _drawn(f"{self.seed if self.seed is not None else seed}|{place}") < self.chance


class FaultFile(Contract):
    """The faults of tool calls. Each fault that strikes a call counts; of failures, the first."""

    seed: int = 0
    """It decides which calls are struck by chance."""
    faults: list[ToolFault] = Field(min_length=1, max_length=1_000)

    def matching(self, tool: str) -> Iterator[tuple[int, ToolFault]]:
        """Yield the faults that may strike a tool's call, with their places in the file."""
        return ((place, fault) for place, fault in enumerate(self.faults) if fnmatchcase(tool, fault.tool))


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


def _drawn(text: str) -> float:
    """Return a number from 0 to 1 that depends on nothing but the text."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big") / 2**48
