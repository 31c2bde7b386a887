"""Find links, identifiers, and personal data: e-mail addresses, phone numbers, numbers of documents."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from turnloom.planner.reply.grounding.amounts import is_currency
from turnloom.planner.reply.grounding.figures import PERSONAL, Figure, Key
from turnloom.planner.reply.grounding.lexicon import endings, words

_SIGN = r"[^\s<>\"'`|\\^\0\u3000-\u30ff\uff00-\uffef]"
"""A character that may be in a link. The signs of Japanese go on with the sentence."""
_TARGET = re.compile(
    r"\]\(\s{0,9}<?(?P<round>(?:[^\s()>\0]|\([^\s()\0]*\))+)"  # [text](target)
    r"|^ {0,3}\[[^\]\n]{1,99}\]:[ \t]{0,9}<?(?P<named>[^\s>\0]+)"  # [name]: target
    r"|(?<![\w?&;=#%.-])(?:href|src|action)\s{0,9}=\s{0,9}[\"']?(?P<html>[^\s\"'>\0]+)",
    re.IGNORECASE | re.MULTILINE,
)
"""The target of a link in Markdown or HTML, whatever it looks like."""
_LINK = re.compile(
    rf"(?<![^\W\u0590-\u06ff\u2e80-\uffef])(?<![+.-])(?:[a-z][a-z0-9+.-]{{1,20}}:/|(?:https?|javascript|vbscript):|www\.){_SIGN}+"
    rf"|(?<![\w:/.])//(?=[^\W_]){_SIGN}+",
    re.IGNORECASE,
)
"""A text that is a link by its form."""
_LABEL = r"[^\W_][\w-]{0,62}"
_HOST = re.compile(
    rf"(?<![\w@.-])(?P<host>(?:{_LABEL}\.)+(?P<ending>{_LABEL}))(?P<port>:\d{{1,5}}(?!\d))?(?P<path>[/?#]{_SIGN}*)?",
    re.IGNORECASE,
)
"""A possible host name, with the port and path after it."""
_PREFIX = re.compile(r"[\u0590-\u06ff\u2e80-\uffef]+-?(?=[A-Za-z0-9])")
"""Characters that scripts without blanks, or with prefixes, put in front of a host."""
_ADDRESS = r"(?:(?![\u0590-\u06ff\u2e80-\uffef])[\w+-])"
_HAN = re.compile(r"(?<=[A-Za-z0-9/])[\u3400-\u9fff]")
"""A sign of Chinese behind a link, which may be its own or the sentence's."""
_EMAIL = re.compile(rf"(?<![A-Za-z0-9_.+])(?![.+-]){_ADDRESS}(?:\.|{_ADDRESS}){{0,63}}@{_ADDRESS}+(?:\.{_ADDRESS}+)+")
_PHONE = re.compile(
    r"(?<![\d.,])(?<![^\W_\u2e80-\uffef])(?:\+|00|\(?0|\(?\d{2,3}\)?[ .-])"
    r"\(?\d(?:(?:\.|[ ()\u00a0/-]{0,2})\d){5,14}(?![^\W_\u2e80-\uffef])"
)
_CARD = re.compile(r"(?<![\w-])\d{4}(?:[ -]?\d{4}){2}[ -]?\d{1,7}(?![\d-])")
_IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b")
_SHORTEST_IBAN = 15
_LETTER = r"(?![\u2e80-\uffef])[\w-]"
_WORD = re.compile(rf"(?<![A-Za-z0-9_-])[A-Za-z0-9](?:{_LETTER}){{4,80}}(?<=[A-Za-z0-9])(?!{_LETTER})")
_CODE = re.compile(r"[A-Z0-9]{6,8}")
_FLIGHT = re.compile(
    r"(?<![^\W\u2e80-\uffef])(?<!-)"
    r"(?!AM|PM|ID|NO|[GKMT]B|[KCM]M|KG|ML|KW|[QHSTW]\d[ \u00a0]?(?:19|20)\d\d)"  # units, and "Q3 2026"
    r"(?:(?P<letters>[A-Z]{2})[ \u00a0]?(?=\d\d)|(?P<mixed>[A-Z]\d|\d[A-Z])[ \u00a0]?(?=\d{3}))"
    r"(?P<number>\d{2,4})(?![^\W\u2e80-\uffef]|%|[.,:]\d)"
)
_MEASURE = re.compile(r"\d+[A-Z]+|[A-Z]+\d{1,2}")
"""A number with its unit, or a name with its version: no codes, though they have letters and digits."""
_HOURS = re.compile(r"\d{1,2}h\d{2}(?:-\d{1,2}h\d{2})?", re.IGNORECASE)
_GROUPED = re.compile(r"\d{1,3}(?:[ .,\u00a0]\d{3})+|\d+(?:[.,]\d+)?")
"""The forms of numbers that are not phone numbers."""
_FILE = re.compile(r"[\w/ -]{1,200}\.(?:md|txt|pdf|docx?|xlsx?|csv|pptx?|html?)", re.IGNORECASE)
_ENDS = ".,;:!?…)]}*_~"


def find_links(text: str) -> Iterator[Figure]:
    """Find e-mail addresses and links, with or without their scheme."""
    for match in _EMAIL.finditer(text):
        yield Figure("email", match.start(), match.end(), (("email", match[0].lower()),))
    for match in _TARGET.finditer(text):
        yield _link(match[match.lastgroup or 0], match.start(match.lastgroup or 0))
    for match in _LINK.finditer(text):
        yield _link(match[0], match.start())
    for match in _HOST.finditer(text):
        if _is_host(match):
            yield _link(match[0], match.start())


def find_documents(text: str) -> Iterator[Figure]:
    """Find numbers of passports, cards, accounts, and of whatever a word before them calls a document."""
    for pattern, group in ((_named_documents(), "number"), (_IBAN, 0), (_CARD, 0)):
        for match in pattern.finditer(text):
            if sum(char.isdigit() for char in match[group]) >= 4:
                plain = re.sub(r"[\s-]", "", match[group]).upper()
                if pattern is _IBAN and len(plain) < _SHORTEST_IBAN:
                    continue  # the number of a parcel, such as RR473124829DE
                yield Figure("document", match.start(group), match.end(group), (("document", plain),))


def find_phones(text: str) -> Iterator[Figure]:
    """Find phone numbers: long ones, written as no other number is."""
    for match in _PHONE.finditer(text):
        if not _GROUPED.fullmatch(match[0]) or match[0].startswith("0"):
            digits = re.sub(r"\D", "", match[0]).lstrip("0")
            yield Figure("phone", match.start(), match.end(), (("phone", digits),))


def find_identifiers(text: str) -> Iterator[Figure]:
    """Find words of letters and several digits, such as booking codes and ids, and what is called a code or an id."""
    for match in _WORD.finditer(text):
        letters = "".join(char for char in match[0] if char.isalpha())
        digits = sum(char.isdigit() for char in match[0])
        is_code = digits > 2 or (digits and _CODE.fullmatch(match[0]) and not _MEASURE.fullmatch(match[0]))
        if letters and is_code and not (is_currency(letters) or _HOURS.fullmatch(match[0])):
            yield Figure("identifier", match.start(), match.end(), (code_key(match[0]),))
    for match in _named_codes().finditer(text):
        yield Figure("identifier", match.start("code"), match.end("code"), (code_key(match["code"]),))


def find_flights(text: str) -> Iterator[Figure]:
    """Find numbers of flights and trains, also with a blank, such as "LY 514"."""
    for match in _FLIGHT.finditer(text):
        carrier = match["letters"] or match["mixed"]
        is_grouped = is_currency(carrier[0]) and match[0][2:3].isspace()  # "R2 850" is in rand
        if not (is_currency(carrier) or is_grouped):
            yield Figure("identifier", match.start(), match.end(), (code_key(carrier + match["number"]),))


def code_key(text: str) -> Key:
    """Return the key of a text that is an identifier."""
    return "identifier", text.lower()


def is_code(text: str) -> bool:
    """Return whether a text looks like a booking code: capitals, perhaps with digits."""
    return _CODE.fullmatch(text) is not None


def is_personal(figure: Figure) -> bool:
    """Return whether a figure belongs to one person: an address such as info@ is an office's."""
    is_office = figure.kind == "email" and any(_is_office(str(key[1])) for key in figure.keys)
    return figure.kind in PERSONAL and not is_office


def is_of_nobody(text: str) -> bool:
    """Return whether a text in a private field belongs to no person: the name of a file, the address of an office."""
    return _FILE.fullmatch(text) is not None or ("@" in text and _is_office(text))


def _is_office(address: str) -> bool:
    return address.lower().partition("@")[0] in words()["office_addresses"]


def host_of(url: Any) -> str:
    """Return the host of a URL in the form in which links are compared; empty if it is not a URL."""
    try:
        host = urlsplit(url).hostname if isinstance(url, str) else None
    except ValueError:
        return ""
    return (host or "").removeprefix("www.")


def _link(written: str, start: int) -> Figure:
    link = _without_end(written) or written
    prefix = _PREFIX.match(link)
    meant = [link, link[prefix.end() :]] if prefix else [link]
    if goes_on := _HAN.search(link, 1):
        meant.append(link[: goes_on.start()])
    return Figure(
        "link", start, start + len(link), tuple(("link", address) for each in meant for address in _addresses(each))
    )


def _is_host(match: re.Match[str]) -> bool:
    """Return whether dots join a host name, and not a file name, an abbreviation or a number."""
    goes_on = bool(match["port"]) or len(match["path"] or "") > 1
    labels, ending = match["host"].lower().split("."), match["ending"].lower()
    if all(label.isdigit() for label in labels):
        return len(labels) == 4 and goes_on
    known = endings()
    if ending in known["files"] or (ending in known["hours"] and labels[0].isdigit()):
        return goes_on
    if match["ending"].istitle() and ending in words()["sentence_starts"]:
        return goes_on  # "It is booked.You may" lacks a blank
    return ending in known["names"] or ending.startswith("xn--")


def _without_end(link: str) -> str:
    """Remove the punctuation of the sentence after a link. A bracket stays if it was opened inside the link."""
    while link and link[-1] in _ENDS and not (link[-1] == ")" and link.count("(") >= link.count(")")):
        link = link[:-1]
    return link


def _addresses(link: str) -> tuple[str, ...]:
    """Return the forms in which a link is compared. One without a scheme may be any other's."""
    address = _address(link)
    return (address,) if ":" in link.partition("/")[0] else (address, f"http://{address}")


def _address(link: str) -> str:
    """Return a link in the form in which it is compared: lower-case scheme and host, no slash at the end."""
    scheme, _, rest = link.removeprefix("//").rpartition("://")
    host, slash, path = rest.partition("/")
    plain = f"{host.lower().removeprefix('www.')}{slash}{path}".rstrip("/")
    return plain if scheme.lower() in ("", "https") else f"{scheme.lower()}://{plain}"


def named_by(kind: str) -> tuple[str, str]:
    """Return the patterns of the words for documents, or codes, and of those between them and a number."""
    names, joints = (re.sub(r"\s(?=\|)|(?<=\|)\s", "", words()[key]) for key in (kind, "document_joints"))
    return names, joints


@lru_cache
def _named_documents() -> re.Pattern[str]:
    names, joints = named_by("documents")
    return re.compile(
        rf"(?<![^\W\d_])(?:{names})\s?(?:(?:{joints})\s?){{0,3}}:?\s?(?P<number>(?=[\w-]{{0,40}}\d)[A-Z0-9][A-Z0-9-]{{4,40}})\b",
        re.IGNORECASE,
    )


@lru_cache
def _named_codes() -> re.Pattern[str]:
    names, joints = named_by("code_names")
    return re.compile(
        rf"(?i:(?<![^\W\d_])(?:{names})\s?(?:(?:{joints})\s?){{0,3}}):?\s?[\"'#]?(?P<code>[A-Z0-9]{{6,8}})(?![\w-])"
    )
