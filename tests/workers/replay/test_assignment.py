"""Rows are assigned to columns at the least cost."""

from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from turnloom.workers.replay.assignment import assign


@given(
    st.integers(1, 5).flatmap(
        lambda width: st.lists(st.lists(st.integers(0, 9), min_size=width, max_size=width), min_size=1, max_size=5)
    )
)
def test_no_other_assignment_is_cheaper(costs: list[list[int]]):
    """Found by trying all of them. Each row and each column is used at most once."""
    rows, columns = len(costs), len(costs[0])
    tall = costs if rows <= columns else [list(column) for column in zip(*costs, strict=True)]
    cheapest = min(
        sum(row[column] for row, column in zip(tall, order, strict=True))
        for order in permutations(range(len(tall[0])), len(tall))
    )

    pairs = assign(costs)

    assert sum(costs[row][column] for row, column in pairs) == cheapest
    assert len({row for row, _ in pairs}) == len({column for _, column in pairs}) == min(rows, columns)


def test_nothing_is_assigned_to_nothing():
    """Neither without rows nor without columns."""
    assert assign([]) == assign([[], []]) == []
