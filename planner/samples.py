"""Samples: inputs with which every prompt can be tried, kept as data in prompts/samples.yaml."""

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from models.settings import settings

_LEAKS = re.compile(r"\b(?:None|True|False|Undefined)\b|<(?:built-in|bound|function|class|generator|object)\b")


def samples(name: str, inputs: frozenset[str]) -> Iterator[dict[str, Any]]:
    """Yield values for the inputs of a prompt: the usual ones, then each case that the prompt has of its own.

    Raises:
        ValueError: an input has no sample.
    """
    given = _samples(settings().prompts_dir)
    for case in ({}, *given["cases"].get(name, ())):
        values = {**given["inputs"], **case}
        if missing := sorted(inputs - values.keys()):
            raise ValueError(f"prompts/samples.yaml has no sample of {', '.join(missing)}")
        yield {declared: values[declared] for declared in sorted(inputs)}


def leaked(text: str, source: str) -> str | None:
    """Return what a text shows of Python's own way to write values, unless its template says so; None if nothing."""
    return next((found for found in _LEAKS.findall(text) if found not in source), None)


@lru_cache
def _samples(folder: Path) -> Any:
    return yaml.safe_load((folder / "samples.yaml").read_text("utf-8"))
