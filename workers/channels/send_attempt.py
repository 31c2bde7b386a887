"""Make one attempt to send a part of a reply, and say what became of it. Nothing is recorded here."""

import time
from datetime import timedelta

from turnloom.models.errors import PolicyDenied, ToolFailed, Unavailable
from turnloom.models.ledger.deliveries import ClaimedDelivery, DeliveryOutcome, NextDelivery
from turnloom.tools.http.upstream import Unreachable, UpstreamRequest, UpstreamResponse, exchange
from turnloom.workers.channels import pace
from turnloom.workers.channels.accounts import OpenAccount
from turnloom.workers.channels.protocol import MessageRefused, MessageSent, Outcome, TryLater, Unsure, WindowClosed

CALL_S = 8.0
"""Time limit of a call of the provider. An attempt makes two at most."""
_GIVEN_UP_S = 24 * 3600.0
"""Age at which a part that the provider has never taken fails."""
_FIRST_PAUSE_S = {"recipient": 1.0, "number": 0.25}
"""The pause after the first failure. The pace of the account holds back what concerns the whole number."""
_LONGEST_PAUSE_S = 300.0
_MENDING_MS = 60_000
_MOST_QUESTIONS = 10
"""Failures after which the provider is not asked any more whether a part was sent."""
_SETTLING_MS = 2_000
"""The pause before the provider is asked whether a part was sent: it may still be taking it."""


def attempt(found: NextDelivery, claimed: ClaimedDelivery, account: OpenAccount) -> DeliveryOutcome:
    """Send a claimed part, or find out that it was sent before."""
    if claimed.unsure and (known := _asked(found, claimed, account)) is not None:
        return _recorded(found, claimed, account, known)
    window, silent_s = account.adapter.window(account.account), found.silent_s
    if window is None or silent_s is None or timedelta(seconds=silent_s) <= window or _is_template(found, account):
        request = account.adapter.request(account.account, found.recipient, _part(found), found.key)
        answer = _answer(request)
        outcome = account.adapter.outcome(answer) if isinstance(answer, UpstreamResponse) else answer
    else:
        outcome = WindowClosed("window_closed")
    return _recorded(found, claimed, account, outcome)


def failed(code: str, message: str) -> DeliveryOutcome:
    """Return the outcome of a part that will never be sent."""
    return DeliveryOutcome(status="failed", error={"code": code, "message": message})


def withheld(code: str, message: str) -> DeliveryOutcome:
    """Return the outcome of a part that is not to be sent any more."""
    return DeliveryOutcome(status="withheld", error={"code": code, "message": message})


def postponed(found: NextDelivery, code: str, message: str) -> DeliveryOutcome:
    """Return the outcome of a part that cannot be sent until an operator has mended something."""
    error = {"code": code, "message": message}
    if found.age_s > _GIVEN_UP_S:
        return DeliveryOutcome(status="failed", error=error)
    return DeliveryOutcome(status="pending", wait_ms=_MENDING_MS, error=error)


def pause_ms(asked: TryLater, failures: int) -> int:
    """Return the pause before the next attempt: what the provider asks for, or one that doubles with each failure."""
    first_s = _FIRST_PAUSE_S[asked.scope]
    seconds = asked.after_s if asked.after_s is not None else first_s * 2.0 ** min(failures, 12)
    return round(min(max(seconds, 0.1), _LONGEST_PAUSE_S) * 1000)


def _asked(
    found: NextDelivery, claimed: ClaimedDelivery, account: OpenAccount
) -> MessageSent | TryLater | Unsure | None:
    """Ask the provider whether a part was sent. None: it was not."""
    question = account.adapter.search(account.account, found.recipient, _part(found), found.key, claimed.begun_at)
    if question is None:
        return Unsure("the worker was lost while it sent the message, and the provider cannot be asked")
    answer = _answer(question)
    if isinstance(answer, UpstreamResponse):
        return account.adapter.found(answer, found.recipient, _part(found), found.key)
    return Unsure("the provider could not be asked whether it took the message")


def _answer(request: UpstreamRequest) -> UpstreamResponse | TryLater | MessageRefused | Unsure:
    try:
        return exchange(request, time.monotonic() + CALL_S)
    except Unreachable:
        return TryLater("number", "unreachable")
    except PolicyDenied as error:
        return MessageRefused("address_not_allowed", str(error))
    except (Unavailable, ToolFailed, TimeoutError) as error:
        return Unsure(str(error))


def _recorded(found: NextDelivery, claimed: ClaimedDelivery, account: OpenAccount, outcome: Outcome) -> DeliveryOutcome:
    match outcome:
        case MessageSent():
            pace.speed_up(account, found.recipient)
            return DeliveryOutcome(status="sent", provider_id=outcome.provider_id)
        case TryLater():
            return _later(found, account, outcome)
        case MessageRefused():
            return failed(outcome.code, outcome.why)
        case WindowClosed():
            return _in_closed_window(found, account, outcome)
        case Unsure():
            return _unsure(found, claimed, account, outcome)


def _later(found: NextDelivery, account: OpenAccount, asked: TryLater) -> DeliveryOutcome:
    error = {"code": asked.code, "message": "the provider did not take the message yet"}
    if found.age_s > _GIVEN_UP_S:
        return DeliveryOutcome(status="failed", error=error)
    wait_ms = pause_ms(asked, found.failures)
    pace.slow_down(account, found.recipient, asked, wait_ms)
    return DeliveryOutcome(status="pending", wait_ms=wait_ms, error=error)


def _in_closed_window(found: NextDelivery, account: OpenAccount, said: WindowClosed) -> DeliveryOutcome:
    error = {"code": said.code, "message": "the recipient wrote too long ago for a free message"}
    template = account.adapter.template(account.account)
    if template is None or _is_template(found, account):
        return DeliveryOutcome(status="failed", error=error)
    return DeliveryOutcome(status="withheld", body=template, error=error)


def _unsure(found: NextDelivery, claimed: ClaimedDelivery, account: OpenAccount, said: Unsure) -> DeliveryOutcome:
    error = {"code": "outcome_unknown", "message": said.why}
    question = account.adapter.search(account.account, found.recipient, _part(found), found.key, claimed.begun_at)
    if question is None or found.failures >= _MOST_QUESTIONS:
        return DeliveryOutcome(status="unknown", error=error)
    return DeliveryOutcome(status="pending", unsure=True, wait_ms=_SETTLING_MS, error=error)


def _is_template(found: NextDelivery, account: OpenAccount) -> bool:
    return found.body == account.adapter.template(account.account)


def _part(found: NextDelivery) -> dict[str, object]:
    assert found.body is not None, "a part is rendered before it is claimed"
    return found.body
