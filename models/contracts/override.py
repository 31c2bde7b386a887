"""Overrides are a tenant's own texts that replace those under prompts/."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

LARGEST_TEXT = 65_536
"""Most bytes of one text."""


class Override(NamedTuple):
    """A tenant's own text."""

    text: str
    origin: Literal["ledger", "file", "rollout"]


@dataclass(frozen=True, eq=False)
class Overrides:
    """A tenant's own texts, by name: the path under prompts/ without its ending. Compared by identity."""

    texts: Mapping[str, Override]


NO_OVERRIDES = Overrides({})
"""The overrides of a tenant that has none."""
