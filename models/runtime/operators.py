"""Operators act on tenants and conversations: a person under a name at the command line, or whoever has a key.

The edge binds who acts, and the audit log records it. What a process does by itself has no operator.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """The person who acts: by a key of the API, or under a name at the command line."""

    key_id: UUID | None = None
    name: str | None = None


_acting: ContextVar[Operator] = ContextVar("turnloom_operator")


@contextmanager
def acting(operator: Operator) -> Iterator[None]:
    """Name who acts while the block runs."""
    token = _acting.set(operator)
    try:
        yield
    finally:
        _acting.reset(token)


def operator(name: str | None = None) -> Operator:
    """Return who acts: by a key, else under this name, else under the name at the command line; or nobody."""
    bound = _acting.get(Operator())
    return Operator(name=name) if name and bound.key_id is None else bound
