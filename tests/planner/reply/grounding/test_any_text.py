"""Whatever a text, a message and a result say, and however wrongly they say it, the check ends."""

from unicodedata import normalize

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.planner.reply.grounding.replies import refused

PIECES = st.sampled_from(
    (
        "31 February|30 de febrero|le 31 février|31. Februar|2026-02-31|from 4 to 6 December|0 December|"
        "25:99|24:00|7:30 pm|noon|Monday|am Dienstag|$12.50|12,50 €|€0|0 USD|one euro|1.234.567,89|100%|"
        "a third of October|half|-5|00|3 rooms|no rooms|two of the three|is cheaper than|instead of|rose by|"
        "so|more than|in total|per night|for 0 nights|not refundable|booked|I've sent it|https://a.b/c|a@b.c|"
        "tomorrow|1.5 days from today|on the twenty-seventh|£5 EUR|5億3,000万円|千二百円|ألف وثلاثمئة|ten to six|"
        '+1 555 0100|1e400|NaN|∞|½|²|二十|שלושה|ثلاثة|⏎|.|,|:|(|)|{|"|null'
    ).split("|")
)
TEXTS = st.lists(PIECES, max_size=12).map(" ".join)
FIELDS = st.sampled_from("base from rate rates USD EUR total shore_km date start end available cents pct".split())
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | PIECES | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=4),
    max_leaves=8,
)


@settings(max_examples=300)
@given(TEXTS, TEXTS, VALUES)
def test_no_text_breaks_the_check(text: str, said: str, result: object) -> None:
    """What is refused stands in the text."""
    for piece in refused(text, result, said=said):
        assert piece in normalize("NFKC", text)
