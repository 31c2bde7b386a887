"""Mask what a tool keeps secret: the fields that it names in `redact`."""

from typing import Any

_MASK = "***"


def masked(value: Any, secret: frozenset[str]) -> Any:
    """Return a value with the fields of these names masked, at any depth."""
    if isinstance(value, dict):
        return {name: _MASK if name in secret else masked(inner, secret) for name, inner in value.items()}
    if isinstance(value, list):
        return [masked(inner, secret) for inner in value]
    return value


def hidden(value: Any) -> Any:
    """Return a value of which nobody knows what is secret: all of its fields masked."""
    if isinstance(value, dict):
        return dict.fromkeys(value, _MASK)
    return None if value is None else _MASK
