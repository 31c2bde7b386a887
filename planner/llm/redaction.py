"""Redaction takes out of a text what must not be recorded with it.

Secrets always go: this process's own, and what has the form of a key, a token or a password in a URL. Card numbers,
e-mail addresses and phone numbers go as the settings say. Each leaves a word for its kind, such as `[card]`.
"""

import re
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from turnloom.models.runtime.settings import RedactedKind, Settings

Kind = RedactedKind | Literal["secret"]

_SHORTEST_SECRET = 12
"""Characters. A shorter secret of a deployment, such as `dev`, may be a word of any text."""
_CARD_DIGITS = range(13, 20)


@dataclass(frozen=True, slots=True)
class _Form:
    """A form of what is taken out."""

    is_possible: Callable[[str], bool]
    """A fast look at a text: if it says no, the text has nothing of this form."""
    pattern: re.Pattern[str]
    left: str | Callable[[re.Match[str]], str]
    """What is put in its place."""

    def without(self, text: str) -> str:
        return self.pattern.sub(self.left, text) if self.is_possible(text) else text


@dataclass(frozen=True, slots=True)
class Redaction:
    """The kinds of data, and the secrets, that are taken out of texts."""

    kinds: tuple[Kind, ...]
    secrets: tuple[str, ...]
    """This process's own secrets."""

    def without(self, text: str) -> str:
        """Return a text without them."""
        for secret in self.secrets:
            text = text.replace(secret, "[secret]")
        for kind in self.kinds:
            for form in _FORMS[kind]:
                text = form.without(text)
        return text

    def of_schemas(self) -> "Redaction":
        """Return the redaction of schemas, which have no person's data, but numbers that a word must not replace."""
        return Redaction(("secret",), self.secrets)


def redaction_of(config: Settings) -> Redaction:
    """Return the redaction that settings ask for."""
    return Redaction(("secret", *config.record_redacted), tuple(_own_secrets(config)))


def _own_secrets(config: Settings) -> Iterator[str]:
    keys = (config.openai_api_key, config.api_key, config.dev_key, config.audit_key, *config.secret_keys)
    for secret in (*keys, *(named.api_key for named in config.llm_models.values())):
        if secret is not None and len(secret) >= _SHORTEST_SECRET:
            yield secret


def _without_card(match: re.Match[str]) -> str:
    return "[card]" if _is_card(match[0]) else match[0]


def _is_card(number: str) -> bool:
    """Return whether the check digit of a card is right (ISO/IEC 7812-1, annex B)."""
    digits = [int(digit) for digit in number if digit.isdigit()]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return len(digits) in _CARD_DIGITS and any(digits) and (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def _holds(mark: str) -> Callable[[str], bool]:
    return lambda text: mark in text


def _has_run(length: int, characters: str, between: str = "") -> Callable[[str], bool]:
    """Return a function that looks for so many of these characters in a row, whatever of the others is between them."""
    wanted, run = {ord(one) for one in characters}, b"1" * length
    table = bytes(ord("1") if code in wanted else ord("0") for code in range(256))
    deleted = between.encode()
    return lambda text: run in text.encode("utf-8", "replace").translate(table, deleted)


_WORD = string.ascii_letters + string.digits + "_-"
# A pattern begins with the characters that it must have, which the engine finds fast, and then looks behind them.
_FORMS: dict[Kind, tuple[_Form, ...]] = {
    "secret": (
        _Form(
            _has_run(19, _WORD),
            re.compile(
                r"(?<![A-Za-z0-9_-])(?:(?:[spr]k|tl|gh[pos]|github_pat|glpat|xox[a-z])[-_]|AKIA|AIza)"
                r"(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{16,}"
            ),
            "[secret]",
        ),
        _Form(
            _holds("eyJ"),
            re.compile(r"eyJ(?<![A-Za-z0-9_-]...)[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]{4,}+){1,2}"),
            "[secret]",
        ),
        _Form(_holds("Bearer "), re.compile(r"(Bearer )[A-Za-z0-9._~+/-]{16,}+=*"), r"\1[secret]"),
        _Form(_holds("://"), re.compile(r"(://)[^\s/@:]{1,64}:[^\s/@]{1,256}(?=@)"), r"\1[secret]"),
    ),
    "card": (
        _Form(
            _has_run(13, string.digits, between=" -"),
            re.compile(r"[0-9](?<![0-9.,-].)(?:[ -]?[0-9]){12,18}(?![0-9-])"),
            _without_card,
        ),
    ),
    "email": (
        _Form(_holds("@"), re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}"), "[email]"),
    ),
    "phone": (
        _Form(_holds("+"), re.compile(r"\+(?<![\w+.].)[0-9](?:[ ()./-]{0,2}[0-9]){7,14}(?![0-9])"), "[phone]"),
        _Form(_holds("0"), re.compile(r"0(?<![\w+.].)[0-9]{1,2}[ -]?[0-9]{3}[ -]?[0-9]{4}(?![0-9])"), "[phone]"),
    ),
}
