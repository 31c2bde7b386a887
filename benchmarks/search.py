"""Measure how long the first page of a search for turns takes in a full ledger, by each filter and by several.

The turns are made by one statement: words, tools, users and errors are as uneven as those of people, some of them rare,
some nowhere. A tenth belongs to other tenants.
"""

import time

import httpx2
import psycopg

from benchmarks.figures import Row, Spread, Table, at_most
from benchmarks.processes import superuser_url
from benchmarks.progress import progress
from benchmarks.stack import stack
from turnloom.models.ledger.keys import DEVELOPMENT_TENANT
from turnloom.workers.embedded.stack import Stack

_STORED, _STORED_SHORT = 10**6, 10**4
_LONGEST_MS = 100
SEARCHES: tuple[dict[str, str], ...] = (
    {},
    {"status": "failed"},
    {"status": "succeeded"},
    {"status": "running"},
    {"agent": "hotel"},
    {"agent": "rare"},
    {"channel": "api"},
    {"channel": "slack"},
    {"channel": "telegram", "account": "desk"},
    {"tool": "tool.0"},
    {"tool": "tool.199"},
    {"tool": "nowhere"},
    {"error": "code_0"},
    {"error": "code_19"},
    {"user": "u7"},
    {"user": "nobody"},
    {"text": "w0"},
    {"text": "w0 w1 w2"},
    {"text": "w19000"},
    {"text": "nowhere"},
    {"text": "酒店"},
    {"status": "failed", "agent": "rare"},
    {"status": "cancelled", "error": "code_0"},
    {"status": "failed", "tool": "tool.199"},
    {"status": "succeeded", "tool": "tool.199", "text": "w0"},
    {"agent": "hotel", "channel": "slack"},
    {"agent": "hotel", "user": "u7", "text": "w0"},
    {"channel": "telegram", "text": "w19000"},
    {"tool": "tool.0", "text": "w1 w2 w3", "status": "failed"},
)
"""Searches for what is common, rare, nowhere, and nowhere together."""
_FILL = """
INSERT INTO turns (id, tenant_id, conversation_id, seq, channel, agent, on_error, on_busy, message, person, extra,
                   status, error, deadline_at, begun_at, planned_at, responding_at, finished_at, created_at)
SELECT (lpad(to_hex(ms), 12, '0') || '7' || substr(md5(n::text), 1, 3) || '8' || substr(md5(n::text), 4, 15))::uuid,
       CASE WHEN mod(n, 10) = 9 THEN gen_random_uuid() ELSE %(tenant)s::uuid END, 'c' || n / 4, mod(n, 4) + 1,
       CASE WHEN mod(n, 10) < 7 THEN 'api' WHEN mod(n, 10) < 9 THEN 'whatsapp:main' ELSE 'telegram:desk' END,
       (array['generic', 'hotel', 'travel', 'assistant'])[1 + mod(n * 7, 4)], 'best_effort', 'auto',
       (SELECT string_agg('w' || (20000 * power(random(), 4))::int, ' ') FROM generate_series(1, 10 + 0 * n))
         || CASE WHEN mod(n, 20) = 3 THEN ' \u4e1c\u4eac\u90fd\u7684\u9152\u5e97' || mod(n, 97) ELSE '' END,
       jsonb_build_object('id', 'u' || (50000 * power(random(), 2))::int), '{}', status,
       CASE WHEN status = 'failed'
            THEN jsonb_build_object('code', 'code_' || (19 * power(random(), 3))::int, 'message', 'no') END,
       now(), now(), now(), now(), now(), to_timestamp(ms / 1000.0)
  FROM generate_series(%(first)s::bigint, %(last)s::bigint) n,
       LATERAL (SELECT 1790000000000 + n * 2592 AS ms,
                       CASE WHEN mod(n, 25) = 1 THEN 'failed' WHEN mod(n, 50) = 2 THEN 'cancelled'
                            WHEN mod(n, 100) = 3 THEN 'superseded' ELSE 'succeeded' END AS status) made
"""
_PLANS = """
INSERT INTO plans (turn_id, revision, tenant_id, format, source, document, trace)
SELECT id, 1, tenant_id, 1, 'llm', jsonb_build_object('steps', (
         SELECT jsonb_agg(jsonb_build_object('id', 's' || m, 'tool', 'tool.' || (199 * power(random(), 3))::int,
                                             'args', jsonb_build_object('ms', 1), 'needs', '[]'::jsonb))
           FROM generate_series(1, 1 + (random() * 3)::int + 0 * length(t.message)) m)), '{}'
  FROM turns t
"""
_RARE = (
    "UPDATE turns SET agent = 'rare' WHERE id IN (SELECT id FROM turns TABLESAMPLE system (0.01))",
    "UPDATE turns SET channel = 'slack:s' WHERE id IN (SELECT id FROM turns TABLESAMPLE system (0.05))",
)
_BLOCK = 50_000


def run(_: Stack, short: bool) -> Table:
    """Fill a stack's ledger, and search it. The first of each search reads pages that nobody has read before."""
    stored = _STORED_SHORT if short else _STORED
    with stack() as filled:
        fill(superuser_url(filled), stored)
        taken = measure(filled, 5)
    rows: list[Row] = [{"search": name, "first page, ms": spread} for name, spread in taken.items()]
    slowest = max(taken.values(), key=lambda spread: spread.median)
    return Table(
        f"search: the first page of 50, over HTTP, {stored:,} turns stored",
        rows,
        targets=[at_most(_LONGEST_MS, "the slowest search, ms", slowest)],
    )


def fill(url: str, turns: int) -> None:
    """Store turns of the development tenant and of others, with their plans."""
    with psycopg.connect(url, autocommit=True) as db:
        row = db.execute("SELECT id FROM tenants WHERE name = %s", (DEVELOPMENT_TENANT,)).fetchone()
        assert row is not None
        db.execute("SET session_replication_role = replica")
        for first in range(0, turns, _BLOCK):
            db.execute(_FILL, {"tenant": row[0], "first": first, "last": min(first + _BLOCK, turns) - 1})
            progress(f"search: {min(first + _BLOCK, turns):,} turns are stored")
        for statement in (_PLANS, *_RARE):
            db.execute(statement)
        db.execute("VACUUM (ANALYZE) turns, plans")
        db.execute("CHECKPOINT")


def measure(of: Stack, rounds: int) -> dict[str, Spread]:
    """Return the milliseconds of each search."""
    taken: dict[str, list[float]] = {}
    with httpx2.Client(base_url=of.url, headers={"X-Api-Key": of.dev_key}, timeout=60) as client:
        for _ in range(rounds):
            for asked in SEARCHES:
                began = time.perf_counter()
                client.get("/v1/turns", params=asked).raise_for_status()
                named = ", ".join(f"{name}={value}" for name, value in asked.items()) or "all"
                taken.setdefault(named, []).append((time.perf_counter() - began) * 1_000)
    return {name: Spread.of(each) for name, each in taken.items()}
