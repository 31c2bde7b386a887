"""References: filled in before a call, typed before anything runs."""

from typing import Any

import pytest
from pydantic import BaseModel, TypeAdapter

from planner.references import compatible, resolve, resolve_args, schema_at


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
    """Wherever a reference stands, its value takes the place; the rest stays as it is."""
    assert resolve(value, RESULTS) == expected


@pytest.mark.parametrize("target", ["other.x", "find.results[7].name", "find.nothing", "find.best.name"])
def test_a_reference_to_nothing_is_named(target: str) -> None:
    """What cannot be found is an error that spells the reference out."""
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
    """Lists, optional objects, dictionaries and open values are followed; dead ends are found."""
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
    """A value of one schema may stand where another is wanted, or not."""
    assert compatible(schema(source), schema(target)) is fits


def test_an_argument_without_a_result_is_left_out() -> None:
    """A step that runs after a failed one does without what that would have given; the rest is filled in."""
    args = {"places": {"$from": "find.results"}, "weather": {"$from": "sky.days"}, "deep": [{"$from": "sky.x"}], "n": 2}

    assert resolve_args(args, RESULTS) == {"places": RESULTS["find"]["results"], "n": 2}
