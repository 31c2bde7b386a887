"""The channels on which people write: one module each. `adapter` returns the one of a channel."""

from importlib import import_module
from typing import cast, get_args

from turnloom.models.errors import NotFound
from turnloom.workers.channels.protocol import Adapter, ChannelName


def adapter(channel: str) -> Adapter:
    """Return the adapter of a channel.

    Raises:
        NotFound: there is no such channel.
    """
    if channel not in get_args(ChannelName):
        raise NotFound(f"there is no channel {channel[:40]!r}; there are {', '.join(get_args(ChannelName))}")
    # Loaded when needed: the signatures of some channels come with large libraries.
    return cast("Adapter", import_module(f"{__name__}.{channel}").ADAPTER)
