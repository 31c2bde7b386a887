"""Templates: Jinja in a sandbox, with bounds, because a tenant may write its own.

A template sees its inputs and nothing else. It cannot run long, grow large or call anything that is not listed here.
The syntax nodes, filters and methods that it may use are closed lists. Everything that can multiply its work or its
text is counted against the budget of one rendering.
"""

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date
from types import BuiltinMethodType
from typing import Any, NamedTuple

from jinja2 import StrictUndefined, Template, meta, pass_context
from jinja2.exceptions import SecurityError, TemplateSyntaxError
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import htmlsafe_json_dumps

from turnloom.models.contracts.override import LARGEST_TEXT
from turnloom.planner.languages import formats
from turnloom.planner.languages.language import ENGLISH, Language
from turnloom.planner.languages.readable_values import readable
from turnloom.planner.template_syntax import bound, check, messages_in

_LARGEST_RESULT = 1_048_576
"""Most characters that one rendering may write, and most that it may make on the way."""
_MOST_STEPS = 100_000
"""Most steps of one rendering: rounds of all its loops, and pieces of text."""
_STEPS_BETWEEN_LOOKS = 32
"""The thread's clock is read once in this many steps, because each look is a system call."""
_LONGEST_S = 1.0
"""Most processor time of one rendering."""
_LARGEST_NUMBER = 10**15
_LONGEST_RANGE = 1_000
_FORMAT = re.compile(r"%\+?(?:\.[0-9])?[dfgs]")
_BUDGET = "<budget>"
"""The name under which a rendering keeps its budget. No template can write this name."""
_LANGUAGE = "<language>"
"""The same for its language."""
_COUNTS = "<counts>"
"""The same for the numbers that its texts depend on."""

_FILTERS = frozenset(
    """
    abs capitalize default first float int items last length list lower map max min reject rejectattr select
    selectattr sort string sum title trim truncate unique upper
    """.split()
)
_METHODS = frozenset(
    """
    get items keys values strftime isoformat date weekday lower upper title capitalize strip lstrip rstrip split
    rsplit splitlines startswith endswith removeprefix removesuffix isdigit count find index
    """.split()
)


class Filled(NamedTuple):
    """A template that is filled in."""

    text: str
    counts: tuple[float, ...]
    """The numbers that its texts depend on, such as how many options it leaves out."""


class _Budget:
    """The remaining allowance of one rendering."""

    def __init__(self) -> None:
        self._end = time.thread_time() + _LONGEST_S
        self._steps = _MOST_STEPS
        self._characters = _LARGEST_RESULT

    def make(self, characters: int) -> None:
        self._characters -= characters
        if self._characters < 0:
            raise SecurityError(f"a template may make at most {_LARGEST_RESULT} characters")

    def go_on(self) -> None:
        """Count one step: a round of a loop, or a piece of text."""
        self._steps -= 1
        if self._steps < 0:
            raise SecurityError(f"a template may take at most {_MOST_STEPS} steps")
        if self._steps % _STEPS_BETWEEN_LOOKS == 0 and time.thread_time() > self._end:
            raise SecurityError(f"a template may run for at most {_LONGEST_S:g} s")


class Templates(ImmutableSandboxedEnvironment):
    """A compiler of templates. Threads may share it."""

    intercepted_binops = frozenset({"+", "*", "%"})

    def __init__(self) -> None:
        super().__init__(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
        self.globals = {"range": _range, "_": _say, "ngettext": _say_counted}
        self.filters = {name: self.filters[name] for name in _FILTERS} | _OWN_FILTERS
        self.filters["count"] = self.filters["length"]

    def read(self, text: str) -> tuple[Template, set[str], tuple[str, ...]]:
        """Compile a template; return it with the names of the inputs that it uses, and its texts to translate.

        Raises:
            ValueError: it is too large, its syntax is wrong, or it uses what templates do not have; the message says
                where.
        """
        if len(text.encode()) > LARGEST_TEXT:
            raise ValueError(f"it is larger than {LARGEST_TEXT} bytes")
        try:
            tree = self.parse(text)
            used = meta.find_undeclared_variables(tree) - self.globals.keys()
            messages = messages_in(tree)
            check(tree)
            bound(tree, self)
            return self.from_string(tree), used, messages
        except ValueError:
            raise
        except TemplateSyntaxError as error:
            raise ValueError(f"line {error.lineno}: it cannot be compiled: {error.message}") from error
        except Exception as error:  # the text is foreign: any failure is its fault
            raise ValueError(f"it cannot be compiled: {error}") from error

    def is_safe_callable(self, obj: Any) -> bool:
        """Let templates call a few methods of plain values, and the functions of their own."""
        if isinstance(obj, BuiltinMethodType) and isinstance(obj.__self__, str | dict | list | date):
            return obj.__name__ in _METHODS
        return obj in (_range, _say, _say_counted)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Let templates calculate with numbers. Text is joined with `~`, within the budget."""
        if not all(isinstance(value, int | float) for value in (left, right)):
            raise SecurityError(f"a template may use {operator} with numbers only; `~` joins text")
        if operator == "*" and abs(left) * abs(right) > _LARGEST_NUMBER:
            raise SecurityError(f"a product in a template may be at most {_LARGEST_NUMBER}")
        return super().call_binop(context, operator, left, right)


def fill(template: Template, inputs: Mapping[str, Any], language: Language = ENGLISH) -> Filled:
    """Fill in a template, in a language.

    Raises:
        Exception: any error of the template, such as an undefined field or an exceeded bound.
    """
    budget, counts = _Budget(), list[float]()
    pieces, written = [], 0
    for piece in template.generate({**inputs, _BUDGET: budget, _LANGUAGE: language, _COUNTS: counts}):
        pieces.append(piece)
        written += len(piece)
        if written > _LARGEST_RESULT:
            raise SecurityError(f"a template may write at most {_LARGEST_RESULT} characters")
        budget.go_on()
    return Filled(language.directed("".join(pieces).strip()), tuple(counts))


def _budget(context: Context) -> _Budget:
    budget: _Budget = context.parent[_BUDGET]
    return budget


@pass_context
def _count(context: Context, values: Iterable[Any]) -> Iterator[Any]:
    """Yield the values of a loop within the budget."""
    budget = _budget(context)
    for value in values:
        budget.go_on()
        yield value


@pass_context
def _join(context: Context, values: Iterable[Any], between: str = "", attribute: str | None = None) -> str:
    """Join texts within the budget."""
    budget, parts = _budget(context), []
    for value in values:
        part = str(value if attribute is None else context.environment.getattr(value, attribute))
        budget.make(len(part) + len(between))
        parts.append(part)
    return between.join(parts)


@pass_context
def _replace(context: Context, value: Any, old: str, new: str) -> str:
    """Replace a part of a text within the budget."""
    text = str(value)
    _budget(context).make(len(text) + text.count(old) * len(new))
    return text.replace(old, new)


@pass_context
def _say(context: Context, english: str, **values: Any) -> str:
    """Write a text of the template in the language of the reply, with these values in its places."""
    return _counted(context, formats.say(context.parent[_LANGUAGE], english, values))


@pass_context
def _say_counted(context: Context, one: str, many: str, n: float, **values: Any) -> str:
    """Write a text that depends on a number."""
    context.parent[_COUNTS].append(n)
    return _counted(context, formats.say_counted(context.parent[_LANGUAGE], one, many, n, values))


def _in_language(write: Callable[..., str]) -> Callable[..., str]:
    """Return the filter that writes a value in the format of the language of the reply."""

    @pass_context
    def written(context: Context, value: Any, *args: Any) -> str:
        return _counted(context, write(context.parent[_LANGUAGE], value, *args))

    return written


def _counted(context: Context, text: str) -> str:
    _budget(context).make(len(text))
    return text


def _range(*bounds: int) -> range:
    """Return a range that is not too long."""
    made = range(*bounds)
    if len(made) > _LONGEST_RANGE:
        raise SecurityError(f"a range in a template may have at most {_LONGEST_RANGE} numbers")
    return made


def _round(value: float, precision: int = 0) -> float:
    """Round to at most six decimals."""
    if precision not in range(7):
        raise SecurityError("a template may round to at most six decimals")
    return round(value, precision) if precision else round(value)


def _format(pattern: str, value: Any) -> str:
    """Format one value with `%d`, `%f`, `%g` or `%s`, such as `%.2f`, without a width."""
    if not _FORMAT.fullmatch(pattern):
        raise SecurityError(f"a template may format one value, such as '%.2f' | format(value), not {pattern!r}")
    return str(pattern % value)


def _to_json(value: Any) -> str:
    """Write a value as JSON. It escapes < and >, so that no value can close the tag around it."""
    return htmlsafe_json_dumps(value, ensure_ascii=False, sort_keys=True, default=str)


_FORMATS: dict[str, Callable[..., str]] = {
    "dated": formats.dated,
    "day": formats.day,
    "listed": formats.listed,
    "money": formats.money,
    "number": formats.number,
    "readable": readable,
    "time": formats.clock,
    "timezone": formats.timezone,
    "translated": formats.translated,
    "worded": formats.worded,
}
_OWN_FILTERS = {
    "counted": _count,
    "format": _format,
    "join": _join,
    "replace": _replace,
    "round": _round,
    "tojson": _to_json,
    **{name: _in_language(write) for name, write in _FORMATS.items()},
}
