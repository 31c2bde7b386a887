"""What a tool keeps secret is masked where its arguments are shown."""

from typing import Any

import pytest

from turnloom.tools.masking import hidden, masked


def test_secret_fields_are_masked() -> None:
    """A field is masked by its name, at any depth."""
    args = {"card": {"number": 1}, "guests": [{"name": "A", "number": 2}], "nights": 3}

    shown = masked(args, frozenset({"number"}))

    assert shown == {"card": {"number": "***"}, "guests": [{"name": "A", "number": "***"}], "nights": 3}


@pytest.mark.parametrize(
    ("value", "shown"),
    [({"a": {"b": 1}, "c": None}, {"a": "***", "c": "***"}), ([{"a": 1}], "***"), ("x", "***"), (None, None)],
)
def test_of_a_value_nobody_knows_only_names_are_shown(value: Any, shown: Any) -> None:
    """What a tool that is gone kept secret is not known, so nothing is shown of what it took and gave."""
    assert hidden(value) == shown
