"""Progress of a benchmark, on stderr."""

import sys
import time

_BEGAN = time.monotonic()


def progress(text: str) -> None:
    """Print progress on stderr."""
    print(f"{time.monotonic() - _BEGAN:6.1f} s  {text}", file=sys.stderr, flush=True)
