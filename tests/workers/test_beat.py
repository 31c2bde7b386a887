"""Beat: small, because it only sends."""

import subprocess
import sys


def test_beat_loads_neither_tasks_nor_the_ledger() -> None:
    """What it sends with needs no connection to Postgres, and so none of what makes one."""
    send = "from workers.beat import app; app.backend; app.loader.import_default_modules()"
    loaded = (
        "import sys; print('sqlalchemy' in sys.modules, 'psycopg' in sys.modules, 'workers.execution' in sys.modules)"
    )

    done = subprocess.run([sys.executable, "-c", f"{send}; {loaded}"], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["False"] * 3
