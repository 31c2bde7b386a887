"""A text becomes passages that are short enough to quote, each under its headings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnloom.tools.packs.research.markdown import LONGEST_PASSAGE, first_heading, split

GUIDE = """Before.
# Guide

Intro.

## Ferry
The ferry leaves.

```sh
# this is code
```

### Prices #
| a | b |
|---|---|
| 1 | 2 |

## Port
* one
* two
"""


def test_each_passage_stands_under_its_headings() -> None:
    """The outermost comes first. A line in a block of code is no heading."""
    passages = [(passage.section, passage.text) for passage in split(GUIDE)]

    assert passages == [
        ("", "Before."),
        ("Guide", "Intro."),
        ("Guide > Ferry", "The ferry leaves.\n\n```sh\n# this is code\n```"),
        ("Guide > Ferry > Prices", "| a | b |\n|---|---|\n| 1 | 2 |"),
        ("Guide > Port", "* one\n* two"),
    ]
    assert first_heading(GUIDE) == "Guide"


def test_plain_text_has_no_headings() -> None:
    """In it a number sign is only a number sign."""
    assert [(one.section, one.text) for one in split("# 1 is best\n\nYes.", is_markdown=False)] == [
        ("", "# 1 is best\n\nYes.")
    ]


@pytest.mark.parametrize("word", ["word ", "word\n", "- item\n", "word\n\n", "x" * 50 + " "])
def test_a_long_text_is_split_between_its_parts(word: str) -> None:
    """It is split between paragraphs, items or words, and never within one."""
    passages = split(f"# Long\n{word * 1_000}")

    assert len(passages) > 1
    assert all(0 < len(passage.text) <= LONGEST_PASSAGE for passage in passages)
    assert " ".join(passage.text for passage in passages).split() == (word * 1_000).split()


@given(st.text(alphabet=st.sampled_from("ab #`~\n-|>1."), max_size=2_000))
def test_no_text_is_lost_or_too_long(text: str) -> None:
    """Each word of any text is in a passage or a heading."""
    passages = split(text)
    said = "".join(f"{passage.section}{passage.text}" for passage in passages)

    assert all(len(passage.text) <= LONGEST_PASSAGE for passage in passages)
    assert set(said) - set(" >\n") <= set(text)
    assert sum(passage.text.count("a") for passage in split(text, is_markdown=False)) == text.count("a")
