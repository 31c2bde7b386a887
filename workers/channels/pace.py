"""The pace of an account: how fast it sends, in all and to one recipient. Workers share the token buckets in Redis.

If Redis is unavailable, nothing is held back: the provider then says when it was too much.
"""

import hashlib

from turnloom.models.connections.redis import run_script
from turnloom.models.errors import Unavailable
from turnloom.workers.channels.accounts import OpenAccount
from turnloom.workers.channels.protocol import Rate, TryLater


def wait_ms(account: OpenAccount, recipient: str) -> int:
    """Take the tokens of one message; return 0, or how long it has to wait, if it did not get them."""
    pace = account.adapter.pace(account.account)
    rates = [*_bucket(pace.number), *_bucket(pace.recipient)]
    try:
        wait, _ = run_script("pace", [_number(account), _recipient(account, recipient)], rates)
    except Unavailable:
        return 0
    return int(wait)


def pause(account: OpenAccount, recipient: str, asked: TryLater, pause_ms: int) -> None:
    """Hold back what the provider has asked to wait: messages to the recipient, or all of the account."""
    pace = account.adapter.pace(account.account)
    key, rate = (_number(account), pace.number)
    if asked.scope == "recipient":
        key, rate = _recipient(account, recipient), pace.recipient
    try:
        run_script("pause", [key], [pause_ms, *_bucket(rate)])
    except Unavailable:
        return


def _bucket(rate: Rate) -> tuple[float, int]:
    return 1_000 / rate.per_s, rate.burst


def _number(account: OpenAccount) -> str:
    return f"turnloom:pace:{account.key}"


def _recipient(account: OpenAccount, recipient: str) -> str:
    # Recipients are phone numbers: Redis need not know them.
    return f"turnloom:pace:{account.key}:{hashlib.sha256(recipient.encode()).hexdigest()[:32]}"
