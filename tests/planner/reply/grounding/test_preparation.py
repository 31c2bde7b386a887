"""A process that is prepared compiles almost nothing for its first reply."""

import subprocess
import sys

_SCRIPT = """
import re._compiler
from datetime import UTC, datetime
from turnloom.planner.reply.grounding import Evidence, ResultOrigin, check, prepare

compiled = []
compile_one = re._compiler.compile
re._compiler.compile = lambda pattern, flags=0: compiled.append(pattern) or compile_one(pattern, flags)
prepare()
before = len(compiled)
evidence = Evidence(datetime(2026, 11, 20, tzinfo=UTC))
evidence.add_said("Zimmer vom 5. bis 7. Dezember, bitte", "message")
evidence.add_result({"zimmer": "Garten", "price": 240, "nights": 2, "pets": False}, ResultOrigin("search"))
check("Das Zimmer Garten kostet 240 EUR, also 120 EUR pro Nacht. Haustiere sind nicht erlaubt.", evidence)
print(before, len(compiled) - before)
"""


def test_the_first_reply_finds_its_patterns_compiled() -> None:
    """Compiling them takes as long as hundreds of checks, and longer if many replies begin at once."""
    done = subprocess.run([sys.executable, "-c", _SCRIPT], check=True, capture_output=True, text=True)

    before, after = map(int, done.stdout.split())
    assert after < before / 10
