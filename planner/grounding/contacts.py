"""Find links, other identifiers, and what tells of a person: e-mail addresses, phone numbers, numbers of documents."""

import re
from collections.abc import Iterator
from functools import lru_cache

from planner.grounding.amounts import is_currency
from planner.grounding.figures import Figure
from planner.grounding.lexicon import words

_LINK = re.compile(
    r"(?:https?://|www\.)[^\s<>\"'`|\\^\0]+"
    r"|(?<![\w@.-])(?:[a-z0-9-]+\.)+(?:com|org|net|edu|gov|info|biz|app|dev|travel|[cit]o|co\.[a-z]{2}|co\.il|de|fr|es|it|uk|eu)\b"
    r"(?!\.\w)(?:/[^\s<>\"'`|\\^\0]*)?",
    re.IGNORECASE,
)
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+")
_PHONE = re.compile(r"(?<![\w.,])(?:\+|00|\(?0|\(?\d{2,3}\)?[ .-])\(?\d(?:[ ().\u00a0/-]{0,2}\d){5,14}(?![\w])")
_CARD = re.compile(r"(?<![\d-])\d{4}(?:[ -]?\d{4}){2}[ -]?\d{1,7}(?![\d-])")
_IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b")
_WORD = re.compile(r"(?<![\w-])[A-Za-z0-9][\w-]{4,80}[A-Za-z0-9](?![\w-])")
_GROUPED = re.compile(r"\d{1,3}(?:[ .,\u00a0]\d{3})+|\d+(?:[.,]\d+)?")
"""How numbers are written that are no phone's."""
_ENDS = ".,;:!?…)]}*_~"


def find_links(text: str) -> Iterator[Figure]:
    """Find e-mail addresses and links, with or without their scheme."""
    for match in _EMAIL.finditer(text):
        yield Figure("email", match.start(), match.end(), (("email", match[0].lower()),))
    for match in _LINK.finditer(text):
        link = _without_end(match[0])
        yield Figure("link", match.start(), match.start() + len(link), (("link", _address(link)),))


def find_documents(text: str) -> Iterator[Figure]:
    """Find numbers of passports, cards, accounts, and what else a word before them calls a document."""
    for pattern, group in ((_named_documents(), "number"), (_IBAN, 0), (_CARD, 0)):
        for match in pattern.finditer(text):
            if sum(char.isdigit() for char in match[group]) >= 4:
                plain = re.sub(r"[\s-]", "", match[group]).upper()
                yield Figure("document", match.start(group), match.end(group), (("document", plain),))


def find_phones(text: str) -> Iterator[Figure]:
    """Find phone numbers: long, and written as no other number is."""
    for match in _PHONE.finditer(text):
        if not _GROUPED.fullmatch(match[0]) or match[0].startswith("0"):
            digits = re.sub(r"\D", "", match[0]).lstrip("0")
            yield Figure("phone", match.start(), match.end(), (("phone", digits),))


def find_identifiers(text: str) -> Iterator[Figure]:
    """Find words made of letters and several digits: booking codes, ids."""
    for match in _WORD.finditer(text):
        letters = "".join(char for char in match[0] if char.isalpha())
        digits = sum(char.isdigit() for char in match[0])
        if letters and digits > 2 and not is_currency(letters):
            yield Figure("identifier", match.start(), match.end(), (("identifier", match[0].lower()),))


def _without_end(link: str) -> str:
    """Leave off the punctuation of the sentence that a link ends; a bracket belongs to it where it opens in it."""
    while link and link[-1] in _ENDS and not (link[-1] == ")" and link.count("(") >= link.count(")")):
        link = link[:-1]
    return link


def _address(link: str) -> str:
    """Return a link as it is compared: scheme and host in small letters, no slash at the end."""
    scheme, _, rest = link.rpartition("://")
    host, slash, path = rest.partition("/")
    plain = f"{host.lower().removeprefix('www.')}{slash}{path}".rstrip("/")
    return plain if scheme.lower() in ("", "http", "https") else f"{scheme.lower()}://{plain}"


@lru_cache
def _named_documents() -> re.Pattern[str]:
    names, joints = (re.sub(r"\s(?=\|)|(?<=\|)\s", "", words()[key]) for key in ("documents", "document_joints"))
    return re.compile(
        rf"(?<![^\W\d_])(?:{names})\s?(?:(?:{joints})\s?){{0,3}}:?\s?(?P<number>(?=[\w-]{{0,40}}\d)[A-Z0-9][A-Z0-9-]{{4,40}})\b",
        re.IGNORECASE,
    )
