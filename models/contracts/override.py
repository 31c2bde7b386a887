"""Overrides: a tenant's own texts in place of those under prompts/."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

LARGEST_TEXT = 65_536
"""Bytes of one text, at most."""


class Override(NamedTuple):
    """A tenant's own text."""

    text: str
    origin: Literal["ledger", "file"]


@dataclass(frozen=True, eq=False)
class Overrides:
    """A tenant's own texts, by name: the path under prompts/ without its ending. Only the same object equals it."""

    texts: Mapping[str, Override]


NO_OVERRIDES = Overrides({})
"""What most tenants have."""
