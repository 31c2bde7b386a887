"""Documents of tenants that have none of their own."""

from pathlib import Path

from turnloom.models.runtime.settings import ROOT
from turnloom.models.tables.base import EVERYONE
from turnloom.tools.packs.research import collections
from turnloom.tools.packs.research.collections import Collection, files_in

SAMPLES = Path(__file__).parent / "data" / "samples"
"""Invented documents. Two of them contradict each other."""


def load() -> None:
    """Load the samples and, in a checkout, our documentation."""
    collections.load(Collection(name="samples", owner=EVERYONE, folder=SAMPLES), files_in(SAMPLES))
    docs = ROOT / "docs"
    # An installed wheel has no docs. A folder with that name beside it belongs to somebody else.
    if (docs / "glossary.md").is_file() and (docs / "concepts").is_dir():
        files = [ROOT / "README.md", *files_in(docs)]
        collections.load(Collection(name="turnloom", owner=EVERYONE, folder=ROOT), files)
