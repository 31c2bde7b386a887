"""A shop that can be closed: a folder whose file `orders` has a line for each order.

While the folder has a file `closed`, the shop does not answer.
"""

from pathlib import Path

from turnloom.models.contracts.base import Contract
from turnloom.models.errors import Unavailable
from turnloom.tools.context import ToolContext
from turnloom.tools.registry import tool


class Order(Contract):
    """An article to order, and the shop to order it from."""

    shop: Path
    is_heard: bool = False
    """Whether the order is taken although the answer is lost."""


class Ordered(Contract):
    """An order that the shop has taken."""

    key: str


def find_order(query: Order, context: ToolContext) -> Ordered | None:
    """Return the order that has the call's key."""
    _reach(query)
    return Ordered(key=context.idempotency_key) if context.idempotency_key in _orders(query) else None


@tool("shop.order", effect="write", timeout_s=20, reconcile=find_order)
def order(query: Order, context: ToolContext) -> Ordered:
    """Order something, once for each key."""
    if query.is_heard or not _is_closed(query):
        _take(query, context)
    _reach(query)
    return Ordered(key=context.idempotency_key)


def _take(query: Order, context: ToolContext) -> None:
    if context.idempotency_key not in _orders(query):
        with (query.shop / "orders").open("a") as file:
            file.write(f"{context.idempotency_key}\n")


def _reach(query: Order) -> None:
    if _is_closed(query):
        raise Unavailable("the shop does not answer", code="UPSTREAM_5XX")


def _is_closed(query: Order) -> bool:
    return (query.shop / "closed").exists()


def _orders(query: Order) -> list[str]:
    return (query.shop / "orders").read_text().split()
