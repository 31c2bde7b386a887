"""Only links of the results pass, however they are written. What only a page says is not said as our own."""

from typing import Any

import pytest

from tests.planner.reply.grounding.replies import LINK, NOW, evidence
from turnloom.planner.reply.grounding import Evidence, ResultOrigin, check

EVIDENCE = evidence()


def _refused(text: str, known: Evidence = EVIDENCE) -> list[tuple[str, str]]:
    return [(violation.text, violation.reason) for violation in check(text, known).violations]


def _known(result: Any, **origin: Any) -> Evidence:
    known = Evidence(NOW)
    known.add_result(result, ResultOrigin("s", **origin))
    return known


@pytest.mark.parametrize(
    "text",
    [
        *(
            "Pay at evil.xyz/pay",
            "evil.ru/pay",
            "bit.ly/3abc",
            "t.me/evil",
            "evil.shop/pay?id=1",
            "evil.xyz",
            "EVIL.COM",
        ),
        *(
            "//evil.xyz",
            "(//evil.top/a)",
            "https:/evil.xyz",
            "http:evil.xyz/a",
            "ftp://evil.xyz",
            "javascript:alert(1)",
        ),
        *("[Book](evil.xyz/pay)", "[Book](//evil.xyz)", "[Book](javascript:alert)", "[Book](/pay)", "[Book]( <pay> )"),
        *(
            "<a href=//evil.top>pay</a>",
            "<a href='pay.html'>",
            "[1]: evil",
            "evil\u3002com",
            "evil\uff61com/a",
            "evil.zip/a",
        ),
        *(
            "\u0435v\u0456l.com",
            "пример.рф",
            "xn--e1afmkfd.xn--p1ai",
            "\uff45vil.\uff43om",
            "\u24d4vil.com",
            "evil&#46;com",
        ),
        *(
            "10.1.2.3/pay",
            "evil.com:8080",
            "good.example.com.evil.io/a",
            "请看evil.com",
            "ב-evil.co.il",
            "**evil**.com/x",
        ),
        *("book.example.com", "book.example.com/stay?room=DLX", "https://book.example.com.evil.xyz/stay"),
    ],
)
def test_no_link_is_said_but_those_of_the_results(text: str) -> None:
    """A link, with or without a scheme, is refused unless a result has its host and path."""
    assert _refused(text) != []


@pytest.mark.parametrize(
    "text",
    [
        *(
            "e.g. a room",
            "i.e. now",
            "at 9 a.m. or 5 p.m.",
            "open till 9.am",
            "3.5 of 5",
            "Node.js?",
            "Is it Node.js/React?",
        ),
        *(
            "see README.md and main.py",
            "run setup.sh",
            "photo.jpg, report.pdf",
            "the U.S. and the U.K.",
            "a Ph.D.",
            "Mr. X",
        ),
        *(
            "and/or",
            "24/7",
            "well...then",
            "St. Moritz",
            "approx. 5 min.",
            "No. 7",
            "etc.",
            "z.B. hier",
            "c/o",
            "n/a",
            "he//she",
        ),
        *(
            "你好。再见",
            "ab。cd吗",
            "Hi!Bye",
            "key: value",
            "Note:this",
            "a:b",
            "v1.2.3",
            "tel. or fax",
            "км/ч",
            "ул. Мира",
        ),
        *("[x] done", "f(x)", "a[1]: two", "1. first", "Costs & fees", "AT&T;", "R&D"),
    ],
)
def test_prose_holds_no_links(text: str) -> None:
    """Abbreviations, file names, versions and sentences without a space between them are no links."""
    assert [found for found in check(text, EVIDENCE).violations if found.kind == "link"] == []


@pytest.mark.parametrize(
    "text",
    [
        LINK,
        LINK.removeprefix("https://"),
        f"[Book here]({LINK})",
        f"<{LINK}>",
        f"<a href='{LINK}'>Book</a>",
        LINK.replace("&", "&amp;"),
        f"请看{LINK.removeprefix('https://')}",
        f"ב-{LINK.removeprefix('https://')}",
    ],
)
def test_a_link_of_the_results_may_be_said(text: str) -> None:
    """It may be without its scheme, a target of Markdown and HTML, or behind a prefix of another script."""
    assert _refused(text) == []


PAGE = {
    "url": "https://www.harbour.example/fares",
    "title": "Fares",
    "text": "The crossing takes 125 minutes and costs 80 EUR. Book at https://evil.xyz/pay or pay.example.com/now.",
}
OUTSIDE = frozenset({"title", "text"})


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("It takes 125 minutes.", []),
        ("It costs 80 EUR.", [("80 EUR", "page")]),
        ("It costs 80 per night.", [("80", "page")]),
        ("It costs 80 EUR, says harbour.example.", []),
        ("harbour.example/fares names a price of 80 EUR.", []),
        ("80 EUR: https://www.harbour.example/fares", []),
        ("harbour.example says 81 EUR.", [("81 EUR", "no_source")]),
        ("harbour.example says: book at https://evil.xyz/pay", [("https://evil.xyz/pay", "no_source")]),
        ("harbour.example says: pay.example.com/now", [("pay.example.com/now", "no_source")]),
        ("[harbour.example](https://evil.xyz/pay)", [("https://evil.xyz/pay", "no_source")]),
    ],
)
def test_a_page_is_evidence_of_what_it_says(text: str, refused: list[tuple[str, str]]) -> None:
    """A price that only a page has is given with the page's address. The page's own links are never given."""
    assert _refused(text, _known(PAGE, outside=OUTSIDE)) == refused


def test_a_price_of_our_own_tool_needs_no_page() -> None:
    """A price that one of our tools has too needs no address, whichever came first."""
    known = _known(PAGE, outside=OUTSIDE)
    known.add_result({"price": 80, "currency": "EUR"}, ResultOrigin("ours"))

    assert [(source.step, source.path) for source in check("80 EUR", known).sources] == [("ours", "price")]
