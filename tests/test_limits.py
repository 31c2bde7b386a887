"""The project keeps limits of readability that the linter does not know."""

import ast
import re
import subprocess
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("client", "models", "tools", "planner", "workers", "web")
TEXT = {".py", ".md", ".toml", ".yaml", ".yml", ".j2", ".json", ".sql", ".js", ".css", ".html", ".txt", ".ini", ""}
MODULE_LINES = 300
SQL = sorted((ROOT / "models" / "ledger").rglob("*.sql"))
SQL_COLUMNS = 120
SQL_FUNCTION_LINES = 50
SQL_PARAMETERS = 8
SQL_FUNCTION = re.compile(
    r"^create function hot\.(?P<name>\w+)\((?P<parameters>[^)]*)\).*?\$\$;", re.MULTILINE | re.DOTALL
)
HOMELESS = {"utils", "util", "helpers", "helper", "common", "core", "manager", "service", "misc"}
QUESTION_WORDS = {"What", "Who", "Whose", "Whether", "How", "Why", "Which", "When", "Where"}
# These are put together, so that this file does not contain the words that it looks for.
REGISTRIES = re.compile("|".join([r"pypi\." + "org", "python" + "hosted", r"registry\.npm" + "js", "/simp" + "le/"]))
UNFINISHED = re.compile(r"\b(" + "|".join(["TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"]) + r")\b")
UNMERGED = re.compile(r"^(?:<{7}|>{7})(?: |$)")
MACHINE = re.compile(r"(?<![\w.~-])/(?:r" + "oot|w" + "ork|U" + r"sers)/\w|/ho" + r"me/\w")


@cache
def _files() -> list[Path]:
    """Return the project's own text files: those that git has, or would add."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        pytest.skip("only a git checkout knows which files are the project's")
    paths = [ROOT / line for line in listed.stdout.splitlines()]
    return [path for path in paths if path.suffix in TEXT and path.is_file() and "vendor" not in path.parts]


def _modules() -> list[Path]:
    return [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]


def _hits(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}"
        for path in _files()
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1)
        if pattern.search(line)
    ]


def test_no_module_is_longer_than_a_sitting():
    """A module that cannot be read in one sitting is two modules."""
    # A migration is generated from the tables, and is as long as they are.
    written = [path for path in _files() if path.suffix == ".py" and path.parent.name != "versions"]
    lengths = {path.relative_to(ROOT): len(path.read_text().splitlines()) for path in written}

    assert {path: lines for path, lines in lengths.items() if lines > MODULE_LINES} == {}


def _functions() -> list[tuple[str, int, int]]:
    """Return the name, lines and parameters of each of the ledger's functions."""
    found = [match for path in SQL for match in SQL_FUNCTION.finditer(path.read_text())]
    return [(one["name"], one[0].count("\n") + 1, one["parameters"].count(",") + 1) for one in found]


def test_no_line_of_sql_is_wider_than_a_screen():
    """The ledger's functions have the same width as the code in Python."""
    lines = [(path.name, number, line) for path in SQL for number, line in enumerate(path.read_text().splitlines(), 1)]

    assert [f"{name}:{number}" for name, number, line in lines if len(line) > SQL_COLUMNS] == []


def test_no_function_of_sql_is_longer_than_a_page():
    """A transition that does not fit on a page can be split into functions with names."""
    assert {name: lines for name, lines, _ in _functions() if lines > SQL_FUNCTION_LINES} == {}


def test_no_function_of_sql_has_too_many_parameters():
    """More than eight become one: an object whose keys the function's comment lists."""
    assert {name: count for name, _, count in _functions() if count > SQL_PARAMETERS} == {}


def test_every_function_of_sql_is_measured():
    """The limits would miss a function that they do not recognise."""
    assert len(_functions()) == sum(path.read_text().lower().count("create function") for path in SQL)


def test_every_module_opens_with_its_purpose():
    """The reader of a module first learns its purpose."""
    trees = {path: ast.parse(path.read_text()) for path in _modules()}
    silent = [path for path, tree in trees.items() if tree.body and not ast.get_docstring(tree)]

    assert silent == []


def test_a_class_docstring_names_the_thing():
    """It begins with a noun, such as "A claimed step and its fence.". A question word leaves the noun out."""
    classes = [
        (f"{path.relative_to(ROOT)}:{node.lineno}", (ast.get_docstring(node) or "").partition(" ")[0])
        for path in _files()
        if path.suffix == ".py"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
    ]

    assert [place for place, word in classes if word in QUESTION_WORDS] == []


def test_no_two_public_classes_share_a_name():
    """A name identifies a class without its module."""
    modules = defaultdict(list)
    for path in _modules():
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                modules[node.name].append(str(path.relative_to(ROOT)))

    assert {name: paths for name, paths in modules.items() if len(paths) > 1} == {}


def test_no_module_is_a_drawer():
    """A function without a home is a missing noun, not a utility."""
    drawers = [path for path in _modules() if HOMELESS.intersection([path.stem, path.parent.name])]

    assert drawers == []


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        (REGISTRIES, "a package registry's host stands in no file: where packages come from is the machine's affair"),
        (UNFINISHED, "what is left to do stands in an issue, not in the code"),
        (UNMERGED, "two versions of a passage stand where one was to be chosen"),
        (MACHINE, "a path of somebody's machine works on that machine only"),
    ],
    ids=["registry", "unfinished", "unmerged", "machine"],
)
def test_no_file_has_what_does_not_belong_here(pattern, why):
    """No file has a registry's host, unfinished work, a conflict marker or a path of a machine."""
    assert _hits(pattern) == [], why
