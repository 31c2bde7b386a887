"""Templates: Jinja in a sandbox, with bounds, because a tenant may write its own.

A template sees its inputs and nothing else. It cannot run long, grow large or call anything that is not listed here.
The syntax nodes, filters and methods that it may use are closed lists. Everything that can multiply its work or its
text is counted against the budget of one rendering.
"""

import re
import time
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from types import BuiltinMethodType
from typing import Any

from jinja2 import Environment, StrictUndefined, Template, meta, nodes, pass_context
from jinja2.exceptions import SecurityError
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import htmlsafe_json_dumps

from turnloom.models.contracts.override import LARGEST_TEXT
from turnloom.planner.readable_values import day, readable

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

_NODES = frozenset(
    """
    Template Output TemplateData Name Const Getattr Getitem Slice Filter Test Call Keyword Pair List Tuple Dict If
    CondExpr For Assign Compare Operand And Or Not Neg Pos Add Sub Mul Div FloorDiv Mod Concat
    """.split()
)
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
        self.globals = {"range": _range}
        self.filters = {name: self.filters[name] for name in _FILTERS} | _OWN_FILTERS
        self.filters["count"] = self.filters["length"]

    def read(self, text: str) -> tuple[Template, set[str]]:
        """Compile a template; return it with the names of the inputs that it uses.

        Raises:
            ValueError: it is too large, its syntax is wrong, or it uses what templates do not have; the message says
                where.
        """
        if len(text.encode()) > LARGEST_TEXT:
            raise ValueError(f"it is larger than {LARGEST_TEXT} bytes")
        try:
            tree = self.parse(text)
            used = meta.find_undeclared_variables(tree) - self.globals.keys()
            _check(tree)
            _bound(tree, self)
            return self.from_string(tree), used
        except ValueError:
            raise
        except Exception as error:  # the text is foreign: any failure is its fault
            raise ValueError(f"it cannot be compiled: {error}") from error

    def is_safe_callable(self, obj: Any) -> bool:
        """Let templates call a few methods of plain values, and `range`."""
        if isinstance(obj, BuiltinMethodType) and isinstance(obj.__self__, str | dict | list | date):
            return obj.__name__ in _METHODS
        return obj is _range

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Let templates calculate with numbers. Text is joined with `~`, within the budget."""
        if not all(isinstance(value, int | float) for value in (left, right)):
            raise SecurityError(f"a template may use {operator} with numbers only; `~` joins text")
        if operator == "*" and abs(left) * abs(right) > _LARGEST_NUMBER:
            raise SecurityError(f"a product in a template may be at most {_LARGEST_NUMBER}")
        return super().call_binop(context, operator, left, right)


def fill(template: Template, inputs: Mapping[str, Any]) -> str:
    """Fill in a template.

    Raises:
        Exception: any error of the template, such as an undefined field or an exceeded bound.
    """
    budget = _Budget()
    pieces, written = [], 0
    for piece in template.generate({**inputs, _BUDGET: budget}):
        pieces.append(piece)
        written += len(piece)
        if written > _LARGEST_RESULT:
            raise SecurityError(f"a template may write at most {_LARGEST_RESULT} characters")
        budget.go_on()
    return "".join(pieces).strip()


def _check(tree: nodes.Template) -> None:
    for node in tree.find_all(nodes.Node):
        kind = type(node).__name__
        if kind not in _NODES:
            raise ValueError(f"line {node.lineno}: templates have no {kind}")
        if isinstance(node, nodes.For) and node.recursive:
            raise ValueError(f"line {node.lineno}: a loop may not call itself")
        if isinstance(node, nodes.For | nodes.Assign):
            _check_kept(node.iter if isinstance(node, nodes.For) else node.node)


def _check_kept(value: nodes.Node) -> None:
    """Refuse a list of variables where a value is set or looped over.

    Lists of lists of variables would double each time, and no budget would count that.
    """
    for literal in (value, *value.find_all((nodes.List, nodes.Dict, nodes.Tuple))):
        if isinstance(literal, nodes.List | nodes.Dict | nodes.Tuple):
            try:
                literal.as_const()
            except nodes.Impossible:
                raise ValueError(f"line {literal.lineno}: a list in a loop or `set` may hold only constants") from None


def _bound(tree: nodes.Template, environment: Environment) -> None:
    """Put loops and joins under the budget."""
    for loop in tree.find_all(nodes.For):
        loop.iter = nodes.Filter(loop.iter, "counted", [], [], None, None, lineno=loop.lineno)
    _replace_joins(tree)
    tree.set_environment(environment)


def _replace_joins(node: nodes.Node) -> None:
    for name, value in node.iter_fields():
        if isinstance(value, list):
            setattr(node, name, [_joined(each) if isinstance(each, nodes.Concat) else each for each in value])
        elif isinstance(value, nodes.Concat):
            setattr(node, name, _joined(value))
    for child in node.iter_child_nodes():
        _replace_joins(child)


def _joined(node: nodes.Concat) -> nodes.Filter:
    return nodes.Filter(nodes.List(node.nodes, lineno=node.lineno), "join", [], [], None, None, lineno=node.lineno)


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


_OWN_FILTERS = {
    "counted": _count,
    "day": day,
    "format": _format,
    "join": _join,
    "readable": readable,
    "replace": _replace,
    "round": _round,
    "tojson": _to_json,
}
