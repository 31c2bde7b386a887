"""Hold the golden conversations each night over the API, as a tenant of its own, so that a change for the worse shows.

Beat asks for one conversation a minute. So a run takes one thread of one worker, and goes on where a lost worker or a
pause of beat has left it. What was not held in the night is held by day.
"""

from collections.abc import Mapping
from datetime import UTC, date, datetime

from turnloom.models.connections import redis
from turnloom.models.connections.database import transaction
from turnloom.models.errors import Invalid, Unavailable
from turnloom.models.ledger import golden_nights, keys
from turnloom.models.runtime.logging import log
from turnloom.models.runtime.settings import settings
from turnloom.workers.broker.app import app
from turnloom.workers.evals.conversations import Golden
from turnloom.workers.evals.nightly import missing_words, nightly

_FROM_HOUR = 2
_A_DAY_S = 86_400.0


@app.task(name="hold_golden", send_events=False)
def hold_golden() -> None:
    """Hold the next golden conversation of this night, if the settings name a key."""
    now, key = datetime.now(UTC), settings().eval_key
    if key is None or now.hour < _FROM_HOUR:
        return
    with transaction() as db:
        caller = keys.recognise(db, keys.digest(key))
    if caller is None:
        _tell(now.date(), "TURNLOOM_EVAL_KEY is no key of this deployment, or works no more")
        return
    conversations = _conversations(now.date())
    with transaction(caller.tenant_id) as db:
        name = golden_nights.claim(db, caller.tenant_id, now.date(), list(conversations))
    if name is None:
        return
    difference = _held(conversations[name], key)
    with transaction(caller.tenant_id) as db:
        golden_nights.record(db, caller.tenant_id, now.date(), name, difference)
    log.info("golden.held", name=name, passed=difference is None)


def _conversations(day: date) -> Mapping[str, Golden]:
    """Return the golden conversations of the night, and tell what is wrong with the settings for them."""
    try:
        conversations, without = nightly()
    except Invalid as error:
        _tell(day, str(error))
        return {}
    if without:
        _tell(day, missing_words(without))
    return conversations


def _tell(day: date, reason: str) -> None:
    """Log why conversations are not held, once in a night: the task runs each minute."""
    try:
        is_new = redis.note_once(f"golden:{day}:{reason}", _A_DAY_S)
    except Unavailable:
        is_new = True
    if is_new:
        log.error("golden.not_held", reason=reason)


def _held(golden: Golden, key: str) -> str | None:
    """Hold a conversation over the API, and return why it did not pass."""
    # A client of HTTP, which other workers do without.
    from turnloom.workers.cli.client import Api  # noqa: PLC0415 - heavy, see above
    from turnloom.workers.evals.runner import hold  # noqa: PLC0415 - imports it too

    with Api(settings().api_url, key) as api:
        return hold(api, golden).difference
