"""What must not be recorded is taken out of a text, and nothing else."""

from typing import Any

import pytest

from turnloom.models.runtime.llm_endpoint import LlmEndpoint
from turnloom.models.runtime.settings import RedactedKind, Settings
from turnloom.planner.llm.redaction import redaction_of

ALL: tuple[RedactedKind, ...] = ("card", "email", "phone")


def redacted(text: str, *kinds: RedactedKind, **config: Any) -> str:
    return redaction_of(Settings(record_redacted=list(kinds), **config)).without(text)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("my key is sk-proj-Ab3dEf6hIj9lMn0p", "my key is [secret]"),
        ('{"token": "tl_Ab3dEf6hIj9lMn0pQr"}', '{"token": "[secret]"}'),
        ("xoxb-1234567890-abcdefghij and ghp_0123456789abcdefghij", "[secret] and [secret]"),
        ("Authorization: Bearer abcdefghijklmnop.qrstuv==", "Authorization: Bearer [secret]"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcdefgh", "[secret]"),
        ("postgresql://hotel:pa55@db.internal/x", "postgresql://[secret]@db.internal/x"),
        ("a risk-free sk-learn course, desk-number-2026-is-all-right", None),
        ("https://hotel.example/rooms?id=sk", None),
    ],
)
def test_secrets_always_go(text: str, left: str | None) -> None:
    """Whatever the settings say: keys of known forms, bearer tokens, and passwords in URLs."""
    assert redacted(text) == (text if left is None else left)


def test_this_deployments_own_secrets_go() -> None:
    """In any form, unless they are as short as a word."""
    own = {
        "openai_api_key": "plain-words-as-a-key",
        "dev_key": "dev",
        "llm_models": {"small": LlmEndpoint(api_key="another-plain-key")},
    }

    found = redacted("dev: plain-words-as-a-key, another-plain-key", **own)

    assert found == "dev: [secret], [secret]"


@pytest.mark.parametrize(
    ("kind", "text", "left"),
    [
        ("card", "4111 1111 1111 1111, until 12/27", "[card], until 12/27"),
        ("card", "4111-1111-1111-1111 and 378282246310005", "[card] and [card]"),
        ("card", "order 4111 1111 1111 1112", None),
        ("card", "from 2026-11-25 10:00 to 2026-11-27 12:00, 12345678901234567890123", None),
        ("email", "write to Ana.Lee+x@mail.example.co.uk.", "write to [email]."),
        ("email", "3 rooms @ 120 EUR", None),
        ("phone", "+44 20 7946 0958 or 050-123-4567", "[phone] or [phone]"),
        ("phone", "from 05-11-2026 10:00 to 2026-11-27 at 1,200.00; ids 0123456789012", None),
    ],
)
def test_each_kind_goes_if_it_is_asked_for(kind: RedactedKind, text: str, left: str | None) -> None:
    """Cards have the right check digit. Dates, times, amounts and other numbers stay: replays need them."""
    others = [other for other in ALL if other != kind]

    assert redacted(text, kind) == (text if left is None else left)
    assert redacted(text, *others) == text
