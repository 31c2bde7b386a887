"""Hold the golden conversations each night over the API, as a tenant of its own, so that a change for the worse shows.

Beat asks for one conversation a minute. So a run takes one thread of one worker, and goes on where a lost worker or a
pause of beat has left it. What was not held in the night is held by day.
"""

from datetime import UTC, datetime

from turnloom.models.connections.database import transaction
from turnloom.models.ledger import golden_nights, keys
from turnloom.models.runtime.logging import log
from turnloom.models.runtime.settings import settings
from turnloom.workers.broker.app import app
from turnloom.workers.evals.conversations import Golden, load_golden

_FROM_HOUR = 2


@app.task(name="hold_golden", send_events=False)
def hold_golden() -> None:
    """Hold the next golden conversation of this night, if the settings name a key."""
    now, key = datetime.now(UTC), settings().eval_key
    if key is None or now.hour < _FROM_HOUR:
        return
    with transaction() as db:
        caller = keys.recognise(db, keys.digest(key))
    if caller is None:
        log.error("golden.not_held", reason="TURNLOOM_EVAL_KEY is no key of this deployment, or works no more")
        return
    conversations = _conversations()
    with transaction(caller.tenant_id) as db:
        name = golden_nights.claim(db, caller.tenant_id, now.date(), list(conversations))
    if name is None:
        return
    difference = _held(conversations[name], key)
    with transaction(caller.tenant_id) as db:
        golden_nights.record(db, caller.tenant_id, now.date(), name, difference)
    log.info("golden.held", name=name, passed=difference is None)


def _held(golden: Golden, key: str) -> str | None:
    """Hold a conversation over the API, and return why it did not pass."""
    # A client of HTTP, which other workers do without.
    from turnloom.workers.cli.client import Api  # noqa: PLC0415 - heavy, see above
    from turnloom.workers.evals.runner import hold  # noqa: PLC0415 - imports it too

    with Api(settings().api_url, key) as api:
        return hold(api, golden).difference


def _conversations() -> dict[str, Golden]:
    """Return the golden conversations of the agents that the settings name, by agent and name."""
    files = sorted((settings().prompts_dir / "golden").glob("*.yaml"))
    found = load_golden(files, settings().eval_agents)
    return {f"{golden.agent}/{golden.name}": golden for golden in found}
