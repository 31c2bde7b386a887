"""Each provider's side of its protocol: how it posts what people write, and how it answers what we send."""

from collections.abc import Callable

from turnloom.workers.channels.protocol import ProviderAccount
from turnloom.workers.simulator.protocol import ProviderDialect
from turnloom.workers.simulator.slack import SlackProvider
from turnloom.workers.simulator.telegram import TelegramProvider
from turnloom.workers.simulator.twilio import TwilioProvider
from turnloom.workers.simulator.whatsapp import WhatsAppProvider

_DIALECTS: dict[str, Callable[[ProviderAccount], ProviderDialect]] = {
    "whatsapp": WhatsAppProvider,
    "telegram": TelegramProvider,
    "slack": SlackProvider,
    "twilio": TwilioProvider,
}


def dialect(account: ProviderAccount) -> ProviderDialect:
    """Return the provider's side of an account's channel."""
    return _DIALECTS[account.channel](account)
