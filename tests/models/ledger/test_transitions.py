"""Turns, steps, fragments and replies change only in functions of the database, which are called by name."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from turnloom.models.connections.database import statement
from turnloom.models.schema import functions

ROOT = Path(__file__).resolve().parents[3]
LEDGER = ROOT / "models" / "ledger"
PRODUCT = [path for name in ("models", "tools", "planner", "workers", "web") for path in (ROOT / name).rglob("*.py")]
WRITES = re.compile(
    r"(?i:insert\s+into|update|delete\s+from)\s+(?:turns|steps|fragments|replies)\b"
    r"|\b(?:insert|update|delete)\(\s*(?:Turn|Step|Fragment|Reply)Row\b"
    r"|(?<!class )\b(?:Turn|Step|Fragment|Reply)Row\("
)
TREES = {path: ast.parse(path.read_text("utf-8")) for path in sorted(LEDGER.rglob("*.py"))}
ARRAYS = {"uuid[]": "list", "text[]": "list", "bigint[]": "list"}
TYPES = {
    "uuid": "UUID",
    "integer": "int",
    "bigint": "int",
    "text": "str",
    "boolean": "bool",
    "jsonb": "Jsonb",
    **ARRAYS,
}
RETURNED = {
    node.name: ast.unparse(node.returns)
    for tree in TREES.values()
    for node in tree.body
    if isinstance(node, ast.FunctionDef) and node.returns
}


class Call(NamedTuple):
    """A call of a function, as it stands in the code."""

    place: str
    helper: str
    function: str
    arguments: dict[str, str | None]
    """The type of each argument. None means that the call does not show it."""


def calls() -> Iterator[Call]:
    """Yield each call in the ledger's modules."""
    for path, tree in TREES.items():
        for scope in (node for node in tree.body if isinstance(node, ast.FunctionDef)):
            known = {each.arg: ast.unparse(each.annotation) for each in scope.args.args if each.annotation}
            for node in ast.walk(scope):
                if isinstance(node, ast.Call) and ast.unparse(node.func) in ("call", "call_rows"):
                    arguments = {str(each.arg): _type(each.value, known) for each in node.keywords}
                    place = f"{path.name}:{node.lineno}"
                    yield Call(place, ast.unparse(node.func), ast.literal_eval(node.args[1]), arguments)


def _type(value: ast.expr, known: dict[str, str]) -> str | None:
    if isinstance(value, ast.Call):
        name = ast.unparse(value.func)
        written = RETURNED.get(name, name)
    else:
        written = known.get(ast.unparse(value), "")
    name = written.removesuffix(" | None").partition("[")[0]
    return name if name in TYPES.values() else None


def signatures() -> dict[str, tuple[bool, dict[str, str]]]:
    """Return for each function whether it returns a set, and the types of its parameters."""
    with statement() as db:
        rows = db.execute(
            "SELECT proname, proretset, coalesce(proargnames[:pronargs], '{}'),"
            " ARRAY(SELECT format_type(t, NULL) FROM unnest(proargtypes) t)"
            " FROM pg_proc WHERE pronamespace = %s::regnamespace",
            (functions.schema(),),
        )
        return {name: (is_set, dict(zip(names, types, strict=True))) for name, is_set, names, types in rows}


def _fits(call: Call, is_set: bool, parameters: dict[str, str]) -> bool:
    given = {f"p_{name}": type_ for name, type_ in call.arguments.items()}
    return (
        call.helper == ("call_rows" if is_set else "call")
        and given.keys() == parameters.keys()
        and all(type_ in (None, TYPES[parameters[name]]) for name, type_ in given.items())
    )


def test_every_call_fits_its_function(database: str) -> None:
    """A wrong name, a missing or superfluous parameter, or JSON for a list would fail in the middle of a turn."""
    known = signatures()

    found = list(calls())

    assert len(found) > 30
    assert [call.place for call in found if not _fits(call, *known[call.function])] == []


def test_functions_are_called_in_no_other_way() -> None:
    """No test checks calls inside a SQL statement, so only queries may have them, of functions that compute a value."""
    named = {name for path in PRODUCT for name in re.findall(r"\bhot\.(\w+)\(", path.read_text("utf-8"))}

    assert named <= {"rfc3339", "is_rolled_back", "is_seen", "shown_message"}


def test_only_functions_write_turns_steps_fragments_and_replies() -> None:
    """Each rule about them has one place. `tests/conftest.py` refuses writes by a session."""
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in PRODUCT
        for match in WRITES.finditer(path.read_text("utf-8"))
    ]

    assert found == []
