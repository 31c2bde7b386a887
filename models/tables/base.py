"""The base of all tables.

Every row carries its tenant. Unique constraints of the large tables include the tenant, so that they can be partitioned
by it. For the same reason they have no foreign keys between each other: the ledger's functions keep them consistent.
"""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import DateTime, MetaData, Text, Uuid, func
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

EVERYONE = UUID(int=0)
"""The owner of hotels and documents that tenants without their own see. No tenant has this id."""

HOT = {"postgresql_with": {"fillfactor": 70}}
"""For rows that are updated a few times: free space on the page keeps these updates out of the indexes."""


JSON = JSONB(none_as_null=True)
"""For columns whose value may be any JSON."""


class Row(DeclarativeBase):
    """A row of the ledger."""

    metadata = MetaData(
        naming_convention={
            "pk": "%(table_name)s_pkey",
            "uq": "%(table_name)s_%(column_0_N_name)s_key",
            "ix": "%(table_name)s_%(column_0_N_name)s_idx",
            "fk": "%(table_name)s_%(column_0_N_name)s_fkey",
            "ck": "%(table_name)s_%(constraint_name)s_check",
        }
    )
    type_annotation_map = {  # noqa: RUF012 - SQLAlchemy reads this class attribute
        str: Text,
        UUID: Uuid,
        datetime: DateTime(timezone=True),
        dict[str, Any]: JSON,
        list[Any]: JSON,
        list[str]: ARRAY(Text),
    }


def created_now() -> Mapped[datetime]:
    """Return a column that the database's clock fills."""
    return mapped_column(server_default=func.clock_timestamp())
