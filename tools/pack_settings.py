"""Settings of packs, which each pack declares in its module `settings`."""

from collections.abc import Iterable

from turnloom.models.runtime.environment_settings import EnvironmentSettings
from turnloom.models.runtime.settings import misspelt, settings
from turnloom.tools.pack_index import Pack, find_packs, known_packs


def settings_classes(packs: Iterable[Pack]) -> dict[str, type[EnvironmentSettings]]:
    """Return the classes of the packs' settings by the pack's name. Most packs have none.

    Raises:
        NotFound: the module `settings` of a pack cannot be imported.
    """
    return {
        pack.name: kind
        for pack in packs
        for kind in vars(pack.part("settings") or object).values()
        if isinstance(kind, type) and issubclass(kind, EnvironmentSettings) and kind is not EnvironmentSettings
    }


def read_pack_settings() -> list[EnvironmentSettings]:
    """Return the settings of the enabled packs.

    Raises:
        Misconfigured: a variable is wrong. It is named, its value is not.
        NotFound: an enabled pack does not exist, or its settings cannot be imported.
        Conflict: several packs have the name of an enabled one.
    """
    return [settings().of(kind) for kind in settings_classes(find_packs(settings().packs)).values()]


def unknown_settings() -> list[str]:
    """Return a sentence for each environment variable that is named like a setting but is none.

    The settings of shipped packs are known even if the pack is not enabled.

    Raises:
        NotFound, Conflict: as for `read_pack_settings`.
    """
    return misspelt(settings_classes(known_packs(settings().packs)).values()) if misspelt() else []
