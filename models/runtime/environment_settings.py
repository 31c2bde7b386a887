"""The base of settings: they are read from the environment, and from no file."""

from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from turnloom.models.contracts.field_descriptions import Described
from turnloom.models.runtime.setting_faults import PREFIX


class EnvironmentSettings(Described, BaseSettings):
    """Settings that are read from variables TURNLOOM_…: those of a process, or of a pack.

    A pack's settings are a subclass of this in its module `settings`. Their names begin with the pack's name.
    """

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        extra="ignore",
        env_ignore_empty=True,
        hide_input_in_errors=True,
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 - pydantic's signature
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Read no files. Each further source looks at every field again, at each start of a process."""
        return init_settings, env_settings
