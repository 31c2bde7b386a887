"""Watch whether a program lives: it says so every few seconds, in the words of sd_notify(3), to a socket of its own."""

import secrets
import socket
import sys

SILENCE_S = 15.0
"""A program that has said nothing for so long no longer answers."""
_SLICE_S = 0.5


class Watch:
    """The socket that one program tells that it lives. Linux alone knows sockets without a path."""

    def __init__(self, name: str, silence_s: float) -> None:
        self.environment: dict[str, str] = {}
        """Tells the program where to say it."""
        self._slices = round(silence_s / _SLICE_S)
        self._silent: int | None = None
        """Slices without a word since the last one; None before the first."""
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.settimeout(_SLICE_S)
        if sys.platform == "linux":
            address = f"turnloom/{name}/{secrets.token_hex(8)}"
            self._socket.bind(f"\0{address}")
            self.environment = {"NOTIFY_SOCKET": f"@{address}"}

    def begin(self) -> None:
        """Await the first word of a new process, however long its start takes."""
        self._silent = None

    def is_silent(self) -> bool:
        """Wait for a moment; True where the program has spoken before and says nothing for too long.

        Only time that we wait counts: if we are frozen ourselves, its words lie in the socket.
        """
        try:
            self._socket.recv(256)
        except TimeoutError:
            if self._silent is not None:
                self._silent += 1
        else:
            self._silent = 0
        return (self._silent or 0) >= self._slices

    def close(self) -> None:
        """Hear no more."""
        self._socket.close()
