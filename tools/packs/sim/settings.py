"""The settings of the sim pack."""

from pathlib import Path

from turnloom.models.runtime.environment_settings import EnvironmentSettings


class SimSettings(EnvironmentSettings):
    """The settings of the sim pack."""

    sim_log: Path | None = None
    """The sim pack appends `S|E turn_id step_id attempt epoch_seconds` here, one line per start and effect."""
