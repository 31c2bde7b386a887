"""Commits that must not be lost are retried while Postgres does not answer."""

from collections.abc import Callable, Iterable
from typing import TypeVar
from uuid import UUID

from celery.exceptions import Ignore
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_random_exponential

from turnloom.models.errors import Unavailable
from turnloom.models.runtime.logging import log

Result = TypeVar("Result")

_PATIENCE_S = 30.0
_until_answered = Retrying(
    retry=retry_if_exception_type(Unavailable),
    stop=stop_after_delay(_PATIENCE_S),
    wait=wait_random_exponential(multiplier=0.1, max=2),
    reraise=True,
)


def persist(turn_id: UUID, step_ids: Iterable[str], commit: Callable[[], Result]) -> Result:
    """Commit a change to steps of a turn; retry while Postgres is out.

    Raises:
        Ignore: it stayed out. The leases will expire, and the next holder of the steps continues.
    """
    try:
        return _until_answered(commit)
    except Unavailable as error:
        log.error("step.unrecorded", turn_id=str(turn_id), steps=list(step_ids))
        raise Ignore from error
