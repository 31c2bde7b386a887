"""References are checked for their types before anything runs, and filled in before a call."""

import tracemalloc
from typing import Any

import pytest
from pydantic import BaseModel, TypeAdapter

from turnloom.models.contracts.plan import parse_reference
from turnloom.models.errors import ToolFailed
from turnloom.planner.plan.references import MAX_ARGS_BYTES, compatible, resolve, resolve_args, schema_at


class Place(BaseModel):
    name: str
    stars: int
    price: float | None = None


class Found(BaseModel):
    results: list[Place]
    best: Place | None
    by_name: dict[str, Place]
    anything: Any


SCHEMA = Found.model_json_schema(mode="serialization")
RESULTS = {"find": {"results": [{"name": "Inn", "stars": 3}, {"name": "Spa", "stars": 5}], "best": None}}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"$from": "find.results[1].name"}, "Spa"),
        ({"$from": "find.results.0.stars"}, 3),
        ({"$from": "find.best"}, None),
        ([{"$from": "find.results[0].name"}, {"deep": {"$from": "find.results[1].stars"}}], ["Inn", {"deep": 5}]),
        ("find.best", "find.best"),
    ],
)
def test_references_are_replaced_by_what_they_point_to(value: Any, expected: Any) -> None:
    """A reference anywhere is replaced by its value. The rest stays as it is."""
    assert resolve(value, RESULTS) == expected


@pytest.mark.parametrize(
    "target",
    [
        *("other.x", "find.results[7].name", "find.nothing", "find.best.name", "find.results[999999999]"),
        *(f"find.results.{'9' * 200}", f"find.{'9' * 200}"),
    ],
)
def test_a_reference_to_nothing_is_named(target: str) -> None:
    """The error contains the whole reference."""
    with pytest.raises(LookupError, match=target.replace("[", r"\[").replace("]", r"\]")):
        resolve({"$from": target}, RESULTS)


@pytest.mark.parametrize(
    ("path", "is_there"),
    [
        (("results", 0, "name"), True),
        (("best", "stars"), True),
        (("by_name", "x", "price"), True),
        (("anything", "at", "all"), True),
        (("results", "name"), False),
        (("best", "nothing"), False),
        (("results", 0, "name", "first"), False),
    ],
)
def test_a_path_is_followed_through_the_schema(path: tuple[str | int, ...], is_there: bool) -> None:
    """Lists, optional objects, dictionaries and open values are followed. Dead ends are found."""
    assert (schema_at(SCHEMA, path) is not None) is is_there


def schema(annotation: Any) -> dict[str, Any]:
    return TypeAdapter(annotation).json_schema()


class Named(BaseModel):
    name: str


class Rich(Place):
    owner: str


@pytest.mark.parametrize(
    ("source", "target", "fits"),
    [
        (int, float, True),
        (float, int, False),
        (str, int, False),
        (str | None, str, True),
        (int | str, str, True),
        (list[int], list[float], True),
        (list[str], list[int], False),
        (list[Place], list[Named], True),
        (Place, Rich, False),
        (Any, int, True),
        (int, Any, True),
        (None, str, False),
    ],
    ids=str,
)
def test_types_are_compared(source: Any, target: Any, fits: bool) -> None:
    """A value of one schema may or may not be used in place of another."""
    assert compatible(schema(source), schema(target)) is fits


def test_an_argument_without_a_result_is_left_out() -> None:
    """A step that runs after a failed one does without the arguments that it would have given."""
    args = {"places": {"$from": "find.results"}, "weather": {"$from": "sky.days"}, "deep": [{"$from": "sky.x"}], "n": 2}

    assert resolve_args(args, RESULTS) == {"places": RESULTS["find"]["results"], "n": 2}


@pytest.mark.parametrize("path", ["[1234567890]", f"[{'9' * 5_000}]", "." + "9" * 5_000, ".[1]", "[٣]", "[-1]"])
def test_a_place_that_no_result_can_have_is_no_reference(path: str) -> None:
    """It is refused with the plan, and never followed."""
    assert parse_reference({"$from": f"find.results{path}"}) is None


@pytest.mark.parametrize("depth", [0, 3])
def test_arguments_are_counted_while_they_are_filled_in(depth: int) -> None:
    """Eight kilobytes of references can stand for gigabytes. They are refused before anything is copied twice."""
    result = ["x" * 1_000] * 900
    references: Any = [{"$from": "find.results"}] * 800
    for _ in range(depth):
        references = {"inner": references}
    tracemalloc.start()
    try:
        with pytest.raises(ToolFailed, match=f"{MAX_ARGS_BYTES} are allowed") as refused:
            resolve_args({"value": references}, {"find": {"results": result}})
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert refused.value.code == "BAD_ARGS"
    assert peak < 4 * MAX_ARGS_BYTES


def test_arguments_up_to_the_limit_are_filled_in() -> None:
    """A part of a large result counts as that part alone."""
    results = {"find": {"large": "x" * 1_000_000, "small": 7}}

    assert resolve_args({"a": {"$from": "find.large"}}, results)["a"] == results["find"]["large"]
    assert resolve_args({"a": [{"$from": "find.small"}] * 10_000}, results) == {"a": [7] * 10_000}


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("value", [2**80, [[[[{"$from": "a.large"}]]]]], ids=["a large number", "nesting"])
def test_what_is_no_json_is_refused(value: Any) -> None:
    """It could become neither a key nor a record."""
    with pytest.raises(ToolFailed, match="JSON") as refused:
        resolve_args({"value": [value]}, {"a": {"large": nested(250)}})

    assert refused.value.code == "BAD_ARGS"
