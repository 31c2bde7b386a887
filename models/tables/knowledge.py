"""Knowledge: what a conversation has learned."""

from typing import Any
from uuid import UUID

from sqlalchemy.orm import Mapped, mapped_column

from models.tables.base import Row


class KnowledgeRow(Row):
    """An item of a conversation's knowledge graph, or the lesson that brought some.

    The graph is small and always read whole, so an item is one row and its content is not taken apart.
    """

    __tablename__ = "knowledge"

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    conversation_id: Mapped[str] = mapped_column(primary_key=True)
    kind: Mapped[str] = mapped_column(primary_key=True)
    id: Mapped[str] = mapped_column(primary_key=True)
    """What makes it the same item: made of what it says and, for a fact, of who says so."""
    content: Mapped[dict[str, Any]]
