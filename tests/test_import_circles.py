"""No modules import each other in a circle, not even by an import inside a function."""

from graphlib import TopologicalSorter

import grimp


def test_imports_have_an_order() -> None:
    """Every module can be loaded after those that it imports."""
    packages = [f"turnloom.{name}" for name in ("client", "models", "tools", "planner", "workers", "web")]
    graph = grimp.build_graph(*packages, exclude_type_checking_imports=True, cache_dir=None)

    order = TopologicalSorter({name: graph.find_modules_directly_imported_by(name) for name in graph.modules})

    order.prepare()  # raises CycleError with the circle
