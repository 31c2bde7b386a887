"""The words of JSON schema whose values are no schemas, and what each wants for a value.

Patterns are those of an engine that takes time in proportion to the text, whatever the pattern: a foreign one must not
be able to hang us. It knows neither look-around nor back-references; such patterns are not checked.
"""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from pydantic_core import SchemaError, SchemaValidator, core_schema

_LONGEST_PATTERN = 500


@lru_cache(maxsize=512)
def matcher(pattern: str) -> SchemaValidator | None:
    """Return what finds a pattern in texts; None where our engine does not know it."""
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
"""Word -> whether a value suits it."""
