from pathlib import Path

import pytest
from pydantic import BaseModel

from turnloom.models.errors import NotFound
from turnloom.tools import registry
from turnloom.tools.context import ToolContext
from turnloom.tools.pack_index import shipped_packs
from turnloom.tools.registry import load_registry, tool


class Query(BaseModel):
    city: str


class Found(BaseModel):
    name: str


@pytest.fixture(autouse=True)
def own_declarations(monkeypatch: pytest.MonkeyPatch) -> None:
    load_registry(pack.name for pack in shipped_packs())
    monkeypatch.setattr(registry, "_declared", dict(registry._declared))


def test_a_decorated_function_becomes_a_tool() -> None:
    """Models, description and defaults come from the function itself."""

    @tool("sample.find", effect="read")
    def find(query: Query, context: ToolContext) -> Found:
        """Find a thing
        in a city.

        The rest is for programmers.
        """
        return Found(name=query.city)

    found = registry._declared["sample.find"]

    assert (found.input, found.output, found.pack) == (Query, Found, "tests")
    assert found.description == "Find a thing in a city."
    assert (found.queue, found.timeout_s, found.retries) == ("tools.io", 10.0, 2)
    assert "city" in found.input_schema["properties"]
    assert "name" in found.output_schema["properties"]


def test_a_tool_in_a_process_goes_to_its_own_queue() -> None:
    """Tools that block or burn CPU do not share workers with tools that wait."""
    assert load_registry(["sim"]).get("sim.burn").queue == "tools.cpu"


def test_a_function_without_models_is_no_tool() -> None:
    """The first argument and the result must be pydantic models."""

    def find(query: dict[str, str], context: ToolContext) -> Found:
        """Find a thing."""
        return Found(name="x")

    def nothing() -> Found:
        """Find a thing."""
        return Found(name="x")

    with pytest.raises(TypeError, match=r"sample\.find.*pydantic models"):
        tool("sample.find", effect="read")(find)
    with pytest.raises(TypeError, match="pydantic models"):
        tool("sample.nothing", effect="read")(nothing)


def test_a_function_without_a_docstring_is_no_tool() -> None:
    """The language model would not know its purpose."""

    def find(query: Query, context: ToolContext) -> Found:
        return Found(name="x")

    with pytest.raises(TypeError, match="docstring"):
        tool("sample.find", effect="read")(find)


def test_a_formatter_only_reads() -> None:
    """It also runs where nothing may be changed: in a replay, and after the deadline."""

    def format_it(query: Query, context: ToolContext) -> Found:
        """Format a thing."""
        return Found(name="x")

    with pytest.raises(TypeError, match="it only reads"):
        tool("sample.format", effect="write", formatter=True)(format_it)


def test_a_name_is_taken_once() -> None:
    """A second module cannot replace a tool."""

    def wait(query: Query, context: ToolContext) -> Found:
        """Find a thing."""
        return Found(name="x")

    with pytest.raises(TypeError, match="declared twice"):
        tool("sim.wait", effect="read")(wait)


def test_only_enabled_packs_are_there() -> None:
    """A tool of a pack that is not enabled is unknown."""
    dates = load_registry(["dates"])

    assert list(dates.tools) == ["dates.resolve_hint"]
    with pytest.raises(NotFound, match=r"sim\.wait"):
        dates.get("sim.wait")


def test_an_unknown_pack_is_named() -> None:
    """A misspelt pack stops the start, and the error has its name."""
    with pytest.raises(NotFound, match="'travle'"):
        load_registry(["travle"])


@pytest.mark.parametrize(
    ("patterns", "names"),
    [
        (["sim.echo"], ["sim.echo"]),
        (["dates.*"], ["dates.resolve_hint"]),
        (["dates.*", "sim.fail"], ["dates.resolve_hint", "sim.fail"]),
        (["sim"], []),
        (["sim.ec*"], []),
        (["*cho"], []),
        ([], []),
    ],
)
def test_patterns_choose_tools(patterns: list[str], names: list[str]) -> None:
    """A pattern is a whole name, a pack, or everything. Nothing else matches."""
    everything = load_registry(["sim", "dates", "hotel", "travel"])

    assert list(everything.allowed(patterns).tools) == names


def test_a_star_means_all() -> None:
    """`*` allows every tool of the enabled packs."""
    everything = load_registry(["sim", "dates", "hotel", "travel"])

    assert everything.allowed(["*"]).tools == everything.tools


def test_every_shipped_tool_explains_itself() -> None:
    """Tool, arguments and results have the sentences that a planner reads."""
    shipped = load_registry(pack.name for pack in shipped_packs()).tools.values()

    bare = [
        f"{found.name}.{field}"
        for found in shipped
        for schema in (found.input_schema, found.output_schema)
        for field, property_schema in schema.get("properties", {}).items()
        if "description" not in property_schema and found.name != "travel.format_itinerary"
    ]

    assert bare == []
    assert all(len(found.description) > 20 for found in shipped)
    assert all(Path(found.call.__code__.co_filename).parent.name == found.pack for found in shipped)
