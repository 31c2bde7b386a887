"""Samples: inputs to try every prompt with, kept as data in prompts/samples.yaml."""

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from turnloom.models.runtime.settings import settings
from turnloom.models.runtime.yaml_text import read_yaml

_LEAKS = re.compile(r"\b(?:None|True|False|Undefined)\b|<(?:built-in|bound|function|class|generator|object)\b")


def samples(name: str, inputs: frozenset[str]) -> Iterator[dict[str, Any]]:
    """Yield sample values for the inputs of a prompt: the common ones, then each special case of this prompt.

    Raises:
        ValueError: an input has no sample.
    """
    given = _samples(settings().prompts_dir)
    for case in ({}, *given["cases"].get(name, ())):
        values = {**given["inputs"], **case}
        if missing := sorted(inputs - values.keys()):
            raise ValueError(f"prompts/samples.yaml has no sample for {', '.join(missing)}")
        yield {declared: values[declared] for declared in sorted(inputs)}


def leaked(text: str, source: str) -> str | None:
    """Return the first piece of Python notation in a text, such as `None`; None if there is none.

    A piece that the template's own source contains is not reported.
    """
    return next((found for found in _LEAKS.findall(text) if found not in source), None)


@lru_cache
def _samples(folder: Path) -> Any:
    return read_yaml((folder / "samples.yaml").read_text("utf-8"))
