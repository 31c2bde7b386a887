"""What a tool keeps secret is masked where its arguments are shown."""

from turnloom.tools.masking import masked


def test_secret_fields_are_masked() -> None:
    """A field is masked by its name, at any depth."""
    args = {"card": {"number": 1}, "guests": [{"name": "A", "number": 2}], "nights": 3}

    shown = masked(args, frozenset({"number"}))

    assert shown == {"card": {"number": "***"}, "guests": [{"name": "A", "number": "***"}], "nights": 3}
