"""Workers are the processes that take tasks; one of them leads recovery."""

from datetime import datetime

from sqlalchemy.orm import Mapped, mapped_column

from turnloom.models.tables.base import HOT, Row, created_now


class WorkerRow(Row):
    """A worker process, by its last heartbeat. It belongs to no tenant: workers serve all of them."""

    __tablename__ = "workers"
    __table_args__ = (HOT,)

    name: Mapped[str] = mapped_column(primary_key=True)
    """Node name, such as `worker-io-1@host`."""
    queues: Mapped[list[str]]
    slots: Mapped[int]
    """Tasks that it runs at the same time."""
    started_at: Mapped[datetime] = created_now()
    beat_at: Mapped[datetime] = created_now()


class LeaderRow(Row):
    """The process that may do work of which there is only one, until its lease ends. It belongs to no tenant."""

    __tablename__ = "leaders"
    __table_args__ = (HOT,)

    name: Mapped[str] = mapped_column(primary_key=True)
    """The work that it leads."""
    holder: Mapped[str]
    lease_until: Mapped[datetime]
