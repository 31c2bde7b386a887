"""Loading: no garbage is looked for meanwhile, and not in what was loaded."""

import gc

import pytest

from models.runtime.lean_imports import loading


def test_what_is_loaded_is_passed_over() -> None:
    """Collecting stands still meanwhile, and afterwards what is there is not looked through."""
    with loading():
        assert not gc.isenabled()
    assert gc.isenabled()
    assert gc.get_freeze_count() > 1000


def test_a_failure_to_load_leaves_no_garbage_for_good() -> None:
    """A process that goes on collects again."""
    with pytest.raises(ImportError), loading():
        raise ImportError("a part is missing")
    assert gc.isenabled()
