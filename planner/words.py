"""Split a text into words to compare, in any script.

Chinese, Japanese and Korean text is split into pairs of characters and single ideographs, as Lucene's CJKAnalyzer and
its kin do: no space says where a word ends, or a word ends in a particle. Thai, Lao, Burmese and Khmer are split into
pairs too.
"""

import re
import unicodedata
from collections.abc import Iterator
from itertools import pairwise

_UNSPACED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai and Lao, Burmese, Khmer
    r"\u3005-\u3007\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3"  # Japanese, Chinese, Korean
)
_RUN = re.compile(rf"(?P<pairs>[{_UNSPACED}]+)|[^\W_{_UNSPACED}]+")
_VOICED = 8
"""The combining class of the marks that tell the Japanese か from が. All other marks are accents or vowel points."""


def words_in(text: str, *, shortest: int = 1) -> Iterator[str]:
    """Yield the words of a text, without case, accents and the plural's s.

    Words with fewer letters than `shortest` are left out, unless they come from a text without spaces.
    """
    for run in _RUN.finditer(_folded(text)):
        if run["pairs"]:
            yield from _pairs(run[0])
        elif len(run[0]) >= shortest:
            yield run[0][:-1] if len(run[0]) > 3 and run[0].endswith("s") else run[0]


def _pairs(run: str) -> Iterator[str]:
    yield from (char for char in run if len(run) == 1 or "\u3400" <= char <= "\u9fff")
    yield from (first + second for first, second in pairwise(run))


def _folded(text: str) -> str:
    if text.isascii():
        return text.lower()
    letters = unicodedata.normalize("NFKD", text).casefold()
    plain = "".join(letter for letter in letters if unicodedata.combining(letter) in (0, _VOICED))
    return unicodedata.normalize("NFC", plain)
