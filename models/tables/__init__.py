"""The tables, one module per noun. Importing this package declares them all."""

from models.tables import (
    audit,
    conversations,
    events,
    fragments,
    merged,
    plans,
    replies,
    sim,
    steps,
    tenants,
    turns,
    workers,
)
from models.tables.base import Row

__all__ = [
    "Row",
    "audit",
    "conversations",
    "events",
    "fragments",
    "merged",
    "plans",
    "replies",
    "sim",
    "steps",
    "tenants",
    "turns",
    "workers",
]
