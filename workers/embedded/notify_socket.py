"""The notify socket of a program shows whether it lives: the program reports there every few seconds (sd_notify(3))."""

import secrets
import socket
import sys

SILENCE_S = 15.0
"""A program that has reported nothing for this long counts as silent."""
_SLICE_S = 0.5


class NotifySocket:
    """The socket that receives one program's reports. Only Linux has sockets without a path."""

    def __init__(self, name: str, silence_s: float) -> None:
        self.environment: dict[str, str] = {}
        """Variables that tell the program where to report."""
        self._slices = round(silence_s / _SLICE_S)
        self._silent: int | None = None
        """Slices of time without a report since the last one; None before the first report."""
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.settimeout(_SLICE_S)
        if sys.platform == "linux":
            address = f"turnloom/{name}/{secrets.token_hex(8)}"
            self._socket.bind(f"\0{address}")
            self.environment = {"NOTIFY_SOCKET": f"@{address}"}

    def begin(self) -> None:
        """Await the first report of a new process, however long its start takes."""
        self._silent = None

    def is_silent(self) -> bool:
        """Wait for a moment. Return True if the program has reported before and is now silent for too long.

        Only time that we wait counts: if we are frozen ourselves, its reports wait in the socket.
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
        """Close the socket."""
        self._socket.close()
