"""The pace of an account: how fast it sends, in all and to one recipient. Workers share the token buckets in Redis.

The rate of the account adapts to its provider, as TCP does: a message that is refused for the whole account cuts it,
and it grows again while messages are taken. So a provider that refuses some is sent to as fast as it takes them, and
one that is down is tried now and then. If Redis is unavailable, nothing is held back: the provider then says when it
was too much.
"""

import hashlib

from turnloom.models.connections.redis import run_script
from turnloom.models.errors import Unavailable
from turnloom.workers.channels.accounts import OpenAccount
from turnloom.workers.channels.protocol import Rate, TryLater

_GROWTH = 0.1
"""How much of its own rate an account regains in a second in which messages are taken."""
_SHARE = 0.7
"""How much of the rate is left after a cut."""
_LEAST_PER_S = 0.1
"""A provider that is down is tried this often, so that one that is back is noticed."""
_KEPT_MS = 600_000
"""For how long a lower rate is remembered when nothing is sent."""


def wait_ms(account: OpenAccount, recipient: str) -> int:
    """Take the tokens of one message; return 0, or how long it has to wait, if it did not get them.

    Messages that wait for the account are told to come one after another, not all at the next token.
    """
    pace = account.adapter.pace(account.account)
    keys = [_number(account), _recipient(account, recipient), _lowered(account), f"{_number(account)}:line"]
    try:
        wait, _ = run_script("pace", keys, [*_bucket(pace.number), *_bucket(pace.recipient)])
    except Unavailable:
        return 0
    return int(wait)


def slow_down(account: OpenAccount, recipient: str, asked: TryLater, pause_ms: int) -> None:
    """Hold back what the provider does not take: messages to the recipient for `pause_ms`, or all of the account.

    The account's are sent more slowly, and after the pause that the provider named, if it named one.
    """
    if asked.scope == "recipient":
        _pause(_recipient(account, recipient), account.adapter.pace(account.account).recipient, pause_ms)
    else:
        _adapt(account, recipient, is_refused=True, pause_ms=0 if asked.after_s is None else pause_ms)


def speed_up(account: OpenAccount, recipient: str) -> None:
    """Let an account that was slowed down send faster again, because a message was taken."""
    _adapt(account, recipient, is_refused=False)


def _adapt(account: OpenAccount, recipient: str, *, is_refused: bool, pause_ms: int = 0) -> None:
    pace = account.adapter.pace(account.account)
    own = pace.number.per_s
    rates = [own, own * _GROWTH, _SHARE, min(own, _LEAST_PER_S), _KEPT_MS, 1_000 / pace.recipient.per_s]
    try:
        run_script("adapt", [_lowered(account), _recipient(account, recipient)], [int(is_refused), pause_ms, *rates])
    except Unavailable:
        return


def _pause(key: str, rate: Rate, pause_ms: int) -> None:
    try:
        run_script("pause", [key], [pause_ms, *_bucket(rate)])
    except Unavailable:
        return


def _bucket(rate: Rate) -> tuple[float, int]:
    return 1_000 / rate.per_s, rate.burst


def _number(account: OpenAccount) -> str:
    return f"turnloom:pace:{account.key}"


def _lowered(account: OpenAccount) -> str:
    return f"turnloom:pace:{account.key}:lowered"


def _recipient(account: OpenAccount, recipient: str) -> str:
    # Recipients are phone numbers: Redis need not know them.
    return f"turnloom:pace:{account.key}:{hashlib.sha256(recipient.encode()).hexdigest()[:32]}"
