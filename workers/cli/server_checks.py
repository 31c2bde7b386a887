"""Check Postgres and Redis for the doctor: whether they answer, are set up correctly, and know living processes.

Each check returns what it found, or raises one of our errors.
"""

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from kombu import Connection
from kombu.exceptions import OperationalError

from turnloom.models.connections import database as postgres
from turnloom.models.connections import redis as live
from turnloom.models.errors import Conflict, NotFound, Unavailable
from turnloom.models.ledger import readiness
from turnloom.models.runtime.service_urls import shown_url
from turnloom.models.runtime.settings import settings
from turnloom.models.schema import functions, policies, revisions, roles
from turnloom.tools.pack_index import branches

if TYPE_CHECKING:
    from turnloom.workers.upkeep.living_processes import LivingProcesses

_REDIS = (7, 0)
_SKEW_S = 1.0


def database() -> str:
    """Connect."""
    postgres.ping(settings().database_url)
    return "answers"


def connections() -> str:
    """Check whether a pooler stands in front of Postgres, and whether the settings say so."""
    seen = postgres.examine()
    if seen.is_pooled and not settings().database_pooled:
        raise Unavailable("a pooler stands in front of Postgres: set TURNLOOM_DATABASE_POOLED=true")
    for name, value in seen.differing.items():
        raise Unavailable(f"{name} is {value}: run `turnloom migrate`, then let the pooler connect again")
    return f"up to {settings().database_pool_size} of each process, {'by a pooler' if seen.is_pooled else 'direct'}"


def schema() -> str:
    """Check that the database has the tables and functions that this version needs."""
    missing = _pending(settings().database_url)
    if missing is None:
        with postgres.transaction() as db:
            missing = readiness.lacking(db)
    if missing:
        raise Unavailable(missing)
    return f"up to date, with the functions of this version ({functions.schema()})"


def _pending(url: str) -> str | None:
    try:
        of_packs = branches(settings().packs)
    except (NotFound, Conflict):  # the check of the packs reports it
        return revisions.pending(url)
    return revisions.unknown(revisions.current(url), of_packs) or revisions.pending(url, of_packs)


def role() -> str:
    """Check that the application's role does not have too many rights."""
    is_superuser, is_owner = roles.role_rights(settings().database_url)
    if is_superuser or is_owner:
        raise Unavailable(f"the application's role {'is a superuser' if is_superuser else 'owns the tables'}")
    return "owns nothing"


def row_security() -> str:
    """Check that Postgres, too, keeps tenants apart."""
    if not settings().row_security:
        raise Unavailable("off: the queries alone keep tenants apart")
    with postgres.statement() as db:
        bare = policies.unprotected(db)
    if bare:
        raise Unavailable(f"no policy guards {', '.join(bare)}")
    return "every table of tenants has its policy"


def clock() -> str:
    """Compare this machine's clock with the database's."""
    skew_s = abs((postgres.clock(settings().database_url) - datetime.now(UTC)).total_seconds())
    if skew_s > _SKEW_S:
        raise Unavailable(f"this clock and the database's differ by {skew_s:.1f} s")
    return f"within {_SKEW_S:.0f} s of the database's"


def redis() -> str:
    """Connect to Redis, and check its version."""
    info = live.ping(settings().redis_url)
    version = str(info["redis_version"])
    if tuple(int(part) for part in version.split(".")[:2]) < _REDIS:
        raise Unavailable(f"the server is like Redis {version}; we need {_REDIS[0]}.{_REDIS[1]} or newer")
    return f"answers, like Redis {version}"


def broker() -> str:
    """Say which parts carry messages, and connect to a broker that is not Redis."""
    url = settings().broker_url
    if url is None:
        return f"{'Turnloom' if settings().has_fast_broker else 'Celery'}'s own messages and chords, on Redis"
    where = shown_url(url)
    try:
        with Connection(url) as connection:
            connection.ensure_connection(max_retries=1, timeout=2)
    except (OperationalError, OSError) as error:
        raise Unavailable(f"{where} does not answer: {type(error).__name__}") from error
    return f"Celery's own messages, on {where}; chords on Redis"


def eviction() -> str:
    """Check what Redis does when its memory is full."""
    policy = live.ping(settings().redis_url)["maxmemory_policy"]
    if policy != "noeviction":
        raise Unavailable(f"maxmemory-policy is {policy}: a full server would drop queued tasks")
    return "noeviction"


def workers() -> str:
    """Check that each queue has a living worker."""
    found = _living_processes()
    if found.unserved:
        raise Unavailable(f"no living worker takes from {', '.join(found.unserved)}")
    return ", ".join(f"{queue} ({slots} at a time)" for queue, slots in found.slots.items())


def beat() -> str:
    """Check whether beat sends the periodic tasks."""
    if not _living_processes().beat:
        raise Unavailable("beat does not run: lost work is not found, and no deadline ends a turn")
    return "runs"


def _living_processes() -> "LivingProcesses":
    # Importing this reads the settings, and the doctor must also run when they are wrong.
    from turnloom.workers.upkeep.living_processes import living_processes  # noqa: PLC0415 - see above

    return living_processes()
