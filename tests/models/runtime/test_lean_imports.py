"""Garbage collection is off while modules load, and then skips the loaded objects."""

import gc

import pytest

from turnloom.models.runtime.lean_imports import loading


def test_loaded_objects_are_skipped() -> None:
    """Collection is off meanwhile. Afterwards it skips what was loaded."""
    before = gc.get_freeze_count()
    with loading():
        assert not gc.isenabled()
        loaded: list[object] = [[] for _ in range(2_000)]
    assert gc.isenabled()
    assert gc.get_freeze_count() - before > len(loaded) / 2


def test_a_failure_to_load_leaves_no_garbage_for_good() -> None:
    """A process that goes on after the failure collects again."""
    with pytest.raises(ImportError), loading():
        raise ImportError("a part is missing")
    assert gc.isenabled()
