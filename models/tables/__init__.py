"""The tables, one module per noun. Importing this package declares them all."""

from models.tables import (
    audit,
    conversations,
    events,
    fragments,
    hotel,
    knowledge,
    memory,
    merged,
    overrides,
    plans,
    replies,
    sim,
    steps,
    tenants,
    turns,
    usage,
    workers,
)
from models.tables.base import Row

__all__ = [
    "Row",
    "audit",
    "conversations",
    "events",
    "fragments",
    "hotel",
    "knowledge",
    "memory",
    "merged",
    "overrides",
    "plans",
    "replies",
    "sim",
    "steps",
    "tenants",
    "turns",
    "usage",
    "workers",
]
