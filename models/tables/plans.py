"""A plan is one revision of a turn's graph, as it was validated."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Index, SmallInteger, text
from sqlalchemy.orm import Mapped, mapped_column

from turnloom.models.tables.base import Row, created_now

TOOLS = "jsonb_path_query_array(document, '$.steps[*].tool')"
"""The tools of a plan, as `hot.find_turns` writes them."""


class PlanRow(Row):
    """One revision of the plan of a turn."""

    __tablename__ = "plans"
    __table_args__ = (Index("plans_tools_idx", text(TOOLS), postgresql_using="gin"),)

    turn_id: Mapped[UUID] = mapped_column(primary_key=True)
    revision: Mapped[int] = mapped_column(primary_key=True)
    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    format: Mapped[int] = mapped_column(SmallInteger)
    """Version of the plan format."""
    source: Mapped[str]
    """`llm`, `caller`, or `playbook` if one stood in."""
    document: Mapped[dict[str, Any]]
    trace: Mapped[dict[str, Any]]
    """Its origin: prompts with versions, language model, repair, and the raw text if it was not valid."""
    created_at: Mapped[datetime] = created_now()
