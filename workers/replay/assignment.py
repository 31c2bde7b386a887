"""Assign rows to columns at the least cost: the Hungarian method with potentials (Kuhn, Munkres)."""

from collections.abc import Sequence
from math import inf

Costs = Sequence[Sequence[float]]
"""The cost of each pair: one list per row, all of the same length."""


def assign(costs: Costs) -> list[tuple[int, int]]:
    """Return pairs of a row and a column whose summed cost is the least. The longer side keeps some without a partner.

    It takes O(rows² · columns) if there are fewer rows than columns.
    """
    if costs and len(costs) > len(costs[0]):
        return sorted((row, column) for column, row in assign([*zip(*costs, strict=True)]))
    solution = _Solution(costs)
    for row in range(len(costs)):
        solution.add(row)
    return sorted((row, column) for column, row in solution.row_of.items())


class _Solution:
    """An assignment of the first rows at the least cost, which grows by one row at a time."""

    def __init__(self, costs: Costs) -> None:
        self.row_of: dict[int, int] = {}
        self._costs = costs
        self._columns = range(len(costs[0]) if costs else 0)
        self._of_row = [0.0] * len(costs)
        self._of_column = [0.0] * len(self._columns)

    def add(self, row: int) -> None:
        """Assign one more row, along the shortest path that moves others to other columns."""
        before: dict[int, int | None] = {}
        slack = dict.fromkeys(self._columns, inf)
        passed: list[int] = []
        column: int | None = None
        last: int | None = row
        while last is not None:
            for other, known in slack.items():
                reduced = self._costs[last][other] - self._of_row[last] - self._of_column[other]
                if reduced < known:
                    slack[other], before[other] = reduced, column
            column = min(slack, key=slack.__getitem__)
            self._shift(row, passed, slack, slack[column])
            del slack[column]
            passed.append(column)
            last = self.row_of.get(column)
        self._turn_over(row, column, before)

    def _shift(self, row: int, passed: Sequence[int], slack: dict[int, float], by: float) -> None:
        self._of_row[row] += by
        for column in passed:
            self._of_row[self.row_of[column]] += by
            self._of_column[column] -= by
        for column in slack:
            slack[column] -= by

    def _turn_over(self, row: int, column: int | None, before: dict[int, int | None]) -> None:
        while column is not None:
            previous = before[column]
            self.row_of[column] = row if previous is None else self.row_of[previous]
            column = previous
