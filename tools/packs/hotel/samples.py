"""The demo hotel, which every tenant without a hotel of its own has."""

from pathlib import Path

from turnloom.models.connections.database import transaction
from turnloom.tools.packs.hotel.catalogue import read_catalogue
from turnloom.tools.packs.hotel.store import inventory

DEMO = Path(__file__).parent / "data" / "demo.yaml"


def load() -> None:
    """Load the demo hotel, or replace it if its file has changed."""
    with transaction() as db:
        inventory.load(db, None, read_catalogue(DEMO))
