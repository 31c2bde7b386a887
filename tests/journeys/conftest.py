"""A stack that asks a language model which says what the message tells it to."""

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.journeys.speaking import Speaker, speaker
from workers.embedded import Stack, StackOptions


@pytest.fixture(scope="package")
def model(clean_environment: None) -> Iterator[Speaker]:
    """The language model; it makes no pauses."""
    with speaker() as speaking:
        speaking.gate.set()
        yield speaking


@pytest.fixture(scope="package")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the sim pack of that stack really did."""
    path = tmp_path_factory.mktemp("asking") / "sim.log"
    path.touch()
    return path


@pytest.fixture(scope="package")
def asking(model: Speaker, log: Path) -> Iterator[httpx2.Client]:
    """A stack that asks this language model."""
    settings = {"OPENAI_BASE_URL": model.url, "TURNLOOM_SIM_LOG": str(log)}
    with Stack(StackOptions(data_dir=None, port=0, settings=settings)) as stack:
        headers = {"Authorization": f"Bearer {stack.dev_key}"}
        with httpx2.Client(base_url=stack.url, headers=headers, timeout=40) as client:
            yield client
