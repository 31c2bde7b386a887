"""YAML is read the same by libyaml, and a text from outside can neither grow nor end the process."""

import pytest
import yaml

from turnloom.models.runtime.settings import ROOT
from turnloom.models.runtime.yaml_text import read_plain_yaml, read_yaml


@pytest.mark.parametrize("folder", ["planner", "prompts", "tools"])
def test_the_shipped_files_are_read_as_by_pyyaml(folder: str) -> None:
    """Each shipped file has the value that PyYAML's own parser reads."""
    for path in (ROOT / folder).rglob("*.yaml"):
        text = path.read_text("utf-8")

        assert read_yaml(text) == yaml.safe_load(text), path


def test_an_alias_from_outside_is_refused() -> None:
    """A text from outside that names a part of itself is refused."""
    with pytest.raises(yaml.YAMLError, match="aliases are not allowed"):
        read_plain_yaml("a: &a [1]\nb: [*a, *a]")


@pytest.mark.parametrize("text", ["[" * 200_000, "{a: " * 200_000, "[" * 51 + "]" * 51, "- " * 60 + "a"])
def test_a_deep_text_from_outside_is_refused(text: str) -> None:
    """A text from outside that is nested too deeply is refused, where libyaml would end the process."""
    with pytest.raises(yaml.YAMLError, match="levels deep"):
        read_plain_yaml(text)


def test_a_text_from_outside_is_read() -> None:
    """Lists and objects within each other are read."""
    assert read_plain_yaml("a:\n  - {b: [1, [2]]}\n") == {"a": [{"b": [1, [2]]}]}
