"""The syntax of templates: a closed list, with loops and joins under the budget of a rendering."""

from jinja2 import Environment, nodes
from jinja2.ext import extract_from_ast

_NODES = frozenset(
    """
    Template Output TemplateData Name Const Getattr Getitem Slice Filter Test Call Keyword Pair List Tuple Dict If
    CondExpr For Assign Compare Operand And Or Not Neg Pos Add Sub Mul Div FloorDiv Mod Concat
    """.split()
)


def messages_in(tree: nodes.Template) -> tuple[str, ...]:
    """Return the texts that a template has in the language of the reply: `_("text")`, `ngettext("one", "many", n)`.

    A text that depends on a number is named by its plural.

    Raises:
        ValueError: the text of a call is no constant.
    """
    found = []
    for line, function, strings in extract_from_ast(tree, ("_", "ngettext")):
        texts = strings if isinstance(strings, tuple) else (strings,)
        constant = texts[: 2 if function == "ngettext" else 1]
        if not constant or not all(isinstance(text, str) for text in constant):
            raise ValueError(f"line {line}: {function} takes its text as a constant")
        found.append(str(constant[-1]))
    return tuple(dict.fromkeys(found))


def check(tree: nodes.Template) -> None:
    """Refuse syntax that templates do not have.

    Raises:
        ValueError: the message says where.
    """
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

    Lists of lists of variables would double each time, and no budget would count that. Words for a constant text, as
    `_("text")`, are counted, and may be in such a list.
    """
    for literal in (value, *value.find_all((nodes.List, nodes.Dict, nodes.Tuple))):
        if isinstance(literal, nodes.List | nodes.Dict | nodes.Tuple) and not _is_constant(literal):
            raise ValueError(f"line {literal.lineno}: a list in a loop or `set` may hold only constants")


def _is_constant(node: nodes.Expr) -> bool:
    match node:
        case nodes.Dict():
            return all(_is_constant(part) for pair in node.items for part in (pair.key, pair.value))
        case nodes.List() | nodes.Tuple():
            return all(map(_is_constant, node.items))
        case nodes.Call(node=nodes.Name(name="_")):
            return len(node.args) == 1 and isinstance(node.args[0], nodes.Const) and not node.kwargs
    try:
        node.as_const()
    except nodes.Impossible:
        return False
    return True


def bound(tree: nodes.Template, environment: Environment) -> None:
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
