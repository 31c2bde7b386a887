"""Run a process whose threads all want the only suite at once: `racing TENANT NUMBER THREADS START`.

It prints `held` or `sold-out`, and the guest, for each thread.
"""

import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta
from uuid import UUID

from tests.tools.packs.hotel.conftest import take
from turnloom.models.connections.database import transaction
from turnloom.tools.packs.hotel.store import inventory
from turnloom.tools.packs.hotel.store.inventory import Guest, StayRequest


def race(tenant_id: UUID, number: int, threads: int, start: float) -> None:
    """Wait for the start, then take the suite in every thread."""
    with transaction() as db:
        (hotel,) = inventory.hotels_of(db, tenant_id)
    ready = threading.Barrier(threads)

    def run(thread: int) -> str:
        guest = Guest(tenant_id, f"c{number}-{thread}")
        first = date(2027, 5, 3) + timedelta(days=thread % 3)
        ready.wait()
        time.sleep(max(0.0, start - time.time()))
        held = take(
            hotel,
            "SUI",
            StayRequest(check_in=first, check_out=first + timedelta(days=3), adults=2),
            guest,
            guest.conversation_id,
        )
        return f"{'held' if held else 'sold-out'} {guest.conversation_id}"

    with ThreadPoolExecutor(threads) as pool:
        print(*pool.map(run, range(threads)), sep="\n")  # noqa: T201 - the test reads it


if __name__ == "__main__":
    race(UUID(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
