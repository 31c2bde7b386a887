"""A pack of tools that do what no tool should. A drill's stack finds it beside the shipped packs."""

from pathlib import Path
from typing import Literal

from turnloom.models.contracts.base import Contract
from turnloom.tools.context import ToolContext
from turnloom.tools.registry import tool

EXITS = {"SystemExit": SystemExit, "KeyboardInterrupt": KeyboardInterrupt, "GeneratorExit": GeneratorExit}


class Empty(Contract):
    """An empty result."""


class Number(Contract):
    """The result of a well-behaved tool."""

    number: int


class Text(Contract):
    """A text."""

    text: str


class Exit(Contract):
    """The error that a call ends with."""

    by: Literal["SystemExit", "KeyboardInterrupt", "GeneratorExit"]


class Block(Contract):
    """A pipe that a call waits for."""

    fifo: Path
    """A pipe that nobody writes to."""


@tool("hostile.malformed", effect="read")
def malformed(_: Empty, __: ToolContext) -> Number:
    """Return something of another shape."""
    return Number.model_construct(number="many")  # type: ignore[arg-type]


@tool("hostile.huge", effect="read")
def huge(_: Empty, __: ToolContext) -> Text:
    """Return ten megabytes."""
    return Text(text="x" * 10_000_000)


@tool("hostile.exit", effect="read")
def leave(query: Exit, _: ToolContext) -> Empty:
    """Raise an error that ends an interpreter."""
    raise EXITS[query.by]


@tool("hostile.block", effect="read")
def block(query: Block, _: ToolContext) -> Text:
    """Wait in the kernel, whatever the deadline."""
    return Text(text=query.fifo.read_text())
