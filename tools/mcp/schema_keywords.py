"""The words of JSON schema whose values are not schemas, and a check of the value of each.

Patterns use a regex engine whose time is proportional to the length of the text, so that no foreign pattern can make us
hang. The engine supports neither look-around nor back-references. Patterns that use these are not checked.
"""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from pydantic_core import SchemaError, SchemaValidator, core_schema

_LONGEST_PATTERN = 500


@lru_cache(maxsize=512)
def matcher(pattern: str) -> SchemaValidator | None:
    """Return a validator that searches texts for a pattern. None if our engine does not support the pattern."""
    try:
        return SchemaValidator(core_schema.str_schema(pattern=pattern, strict=True))
    except SchemaError:
        return None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_positive(value: Any) -> bool:
    return _is_number(value) and value > 0


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_pattern(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= _LONGEST_PATTERN and matcher(value) is not None


PLAIN: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _is_number),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), _is_count),
    "multipleOf": _is_positive,
    "pattern": _is_pattern,
    "format": lambda value: isinstance(value, str),
    "enum": lambda value: isinstance(value, list) and bool(value),
    "const": lambda _: True,
}
"""Word -> function that says whether a value is valid for it."""
