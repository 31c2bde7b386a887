"""Run a real Radicale server in its own process."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2

from tests.facts import wait_for
from turnloom.workers.embedded.servers import free_port

PASSWORD = "pw"
_EVENT = """BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//Tests//EN
BEGIN:VEVENT
UID:{uid}
DTSTAMP:20261101T000000Z
SUMMARY:Something
{lines}
END:VEVENT
END:VCALENDAR
"""


@dataclass
class CalendarServer:
    """A calendar server: its address, and the content of its calendars."""

    port: int

    def url(self, user: str, calendar: str = "work") -> str:
        return f"http://127.0.0.1:{self.port}/{user}/{calendar}/"

    def make_calendar(self, user: str) -> str:
        """Make a user's calendar, or empty it."""
        self._send("DELETE", user)
        assert self._send("MKCALENDAR", user).status_code == 201
        return self.url(user)

    def put(self, user: str, uid: str, *lines: str) -> None:
        """Put an event into a calendar."""
        ical = _EVENT.format(uid=uid, lines="\n".join(lines)).replace("\n", "\r\n")
        answer = self._send("PUT", user, f"{uid}.ics", ical, {"Content-Type": "text/calendar"})
        assert answer.status_code == 201, answer.text

    def uids(self, user: str) -> list[str]:
        """Return the uids of a calendar's events."""
        answer = self._send("PROPFIND", user, headers={"Depth": "1"})
        return sorted(part.split("<")[0] for part in answer.text.split(f"/{user}/work/")[1:] if ".ics" in part[:80])

    def text(self, user: str, name: str) -> str:
        return self._send("GET", user, name).text

    def _send(
        self, method: str, user: str, name: str = "", body: str = "", headers: dict[str, str] | None = None
    ) -> httpx2.Response:
        url = self.url(user) + name
        # It speaks plain HTTP. Verification would read all of the machine's certificate authorities for each request.
        with httpx2.Client(verify=False, auth=(user, PASSWORD)) as http:
            return http.request(method, url, content=body.encode(), headers=headers)


@contextmanager
def radicale(folder: Path) -> Iterator[CalendarServer]:
    """Run a server that keeps its files in a folder. Every user's password is the same."""
    port = free_port()
    (folder / "users").write_text("".join(f"{user}:{PASSWORD}\n" for user in ("noa", "david", "mia")))
    (folder / "config").write_text(
        f"[server]\nhosts = 127.0.0.1:{port}\n"
        f"[auth]\ntype = htpasswd\nhtpasswd_filename = {folder / 'users'}\nhtpasswd_encryption = plain\ndelay = 0\n"
        f"[storage]\nfilesystem_folder = {folder / 'collections'}\n[logging]\nlevel = error\n"
    )
    command = [sys.executable, "-m", "radicale", "--config", str(folder / "config")]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        wait_for(lambda: process.poll() is None and _listens(port))
        yield CalendarServer(port)
    finally:
        process.terminate()
        process.wait(5)


def _listens(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0
