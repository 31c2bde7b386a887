"""Failures of tools are raised as their authors write them."""

from datetime import UTC, datetime

import pytest

from turnloom.models.errors import ToolFailed


def test_a_failure_names_its_time_with_a_zone() -> None:
    """A time without a zone is ambiguous. The error shows the tool's author how to write it."""
    with pytest.raises(ValueError, match=r"time zone: datetime\.now\(UTC\)"):
        ToolFailed("slow down", code="RATE_LIMITED", retry_at=datetime(2030, 1, 1))  # noqa: DTZ001 - a likely slip

    assert ToolFailed("slow down", retry_at=datetime(2030, 1, 1, tzinfo=UTC)).retry_at is not None
