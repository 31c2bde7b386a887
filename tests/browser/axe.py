"""Faults that axe finds in a page, for people who cannot see or hear it well."""

from pathlib import Path

import pytest
from playwright.sync_api import Page

from turnloom.web.console import page as console_page

_AXE = Path(console_page.__file__).parent / "node_modules" / "axe-core" / "axe.min.js"
NEEDS_AXE = pytest.mark.skipif(not _AXE.is_file(), reason="axe-core is not installed: `make page`")


def faults(page: Page) -> list[str]:
    """Return what axe calls serious or critical."""
    page.evaluate(_AXE.read_text("utf-8"))
    found = page.evaluate("() => axe.run()")
    serious = [rule for rule in found["violations"] if rule["impact"] in ("serious", "critical")]
    return [
        f"{rule['id']}: {node['html'][:200]} {node['failureSummary'][:200]}"
        for rule in serious
        for node in rule["nodes"]
    ]
