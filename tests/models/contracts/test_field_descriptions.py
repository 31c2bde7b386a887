"""The sentence beneath a field is its description in the JSON schema. It costs nothing until a schema is needed."""

import subprocess
import sys
from typing import Annotated

from pydantic import Field, create_model

from turnloom.models.contracts.base import Contract


class Part(Contract):
    """A part."""

    name: str
    """What it is called."""


class Whole(Contract):
    """A whole."""

    first: Part
    """Where it begins,
    in two lines."""
    rest: tuple[Part, ...] = ()
    size: Annotated[int, Field(description="Stated.")] = 0
    """Not this one."""
    from_: str = Field("here", alias="from")
    """Where it comes from."""


class Larger(Whole):
    """A whole with one more field, which has no description of its size."""

    size: int = 1
    weight: int = 0
    """In grams."""


def _described(model: type[Contract]) -> dict[str, str]:
    properties = model.model_json_schema()["properties"]
    return {name: schema["description"] for name, schema in properties.items() if "description" in schema}


def test_a_schema_has_the_sentence_beneath_each_field() -> None:
    """Own, inherited and aliased fields are described. An explicit description wins."""
    begin = {"first": "Where it begins,\nin two lines.", "from": "Where it comes from."}

    assert _described(Whole) == {**begin, "size": "Stated."}
    assert _described(Larger) == {**begin, "weight": "In grams."}
    assert Whole.model_json_schema()["$defs"]["Part"]["properties"]["name"]["description"] == "What it is called."


def test_a_class_without_a_source_keeps_inherited_descriptions() -> None:
    """A model made at run time describes the fields that it inherits from a class with a source."""
    made = create_model("Made", __base__=Part, other=(int, 0))

    assert _described(made) == {"name": "What it is called."}


def test_a_start_reads_no_source() -> None:
    """Importing contracts and settings reads no class's source."""
    program = (
        "import linecache; from turnloom.models.contracts import plan, turn; import turnloom.models.runtime.settings;"
        "print(*(name for name in linecache.cache if '/models/' in name))"
    )

    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)

    assert said.stdout.split() == []
