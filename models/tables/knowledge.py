"""Knowledge is what a conversation has learned."""

from typing import Any
from uuid import UUID

from sqlalchemy.orm import Mapped, mapped_column

from turnloom.models.tables.base import Row


class KnowledgeRow(Row):
    """An item of a conversation's knowledge graph, or the lesson that brought some.

    The graph is small and always read whole, so an item is one row and its content is one document.
    """

    __tablename__ = "knowledge"

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    conversation_id: Mapped[str] = mapped_column(primary_key=True)
    kind: Mapped[str] = mapped_column(primary_key=True)
    id: Mapped[str] = mapped_column(primary_key=True)
    """The identity of the item, made of its content and, for a fact, of its origin."""
    content: Mapped[dict[str, Any]]
