"""The offline model's rules, as data: prompts/offline/*.yaml.

A domain knows some slots (values it can find in a message), some wants (things it can do) and a skeleton of steps. The
slots that were found and the wants that were heard are the facts that `if` and `unless` refer to.
"""

import re
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from turnloom.models.contracts.base import Contract
from turnloom.models.runtime.yaml_text import map_texts, read_yaml
from turnloom.planner.profile_files import profile_files


def _compiled(pattern: Any) -> Any:
    return re.compile(pattern, re.IGNORECASE) if isinstance(pattern, str) else pattern


Pattern = Annotated[re.Pattern[str], BeforeValidator(_compiled)]


_SCRIPTS = (
    (re.compile(r"(?![0-9]{0,2}[\u3040-\u9fff])[^\u0590-\u06ff]"), r"(?<!\w){}(?!\w)"),
    (re.compile(r"[\u0590-\u05ff]"), r"(?<!\w)[ובלהמש]{{0,2}}?{}(?!\w)"),
    (re.compile(r"[\u0600-\u06ff]"), r"(?<!\w)و??(?:بال|لل|ال|[بل])??{}(?!\w)"),
    (re.compile(r"[0-9]{0,2}[\u3040-\u9fff]"), r"{}"),
)
"""The first letters of words, in Japanese perhaps behind digits, and where the words stand: alone, behind what Hebrew
and Arabic write as one word with the next ("and", "in", "to", "the"), or, last, in Japanese text without spaces."""
_ANDS = "\u05d5\u0648"
"""The "and" of Hebrew and of Arabic, which is written as one word with the next."""
_BLANKS = re.compile(r" {2,}")
_PART = re.compile(r"\(\?&(\w+)\)")


class SlotRule(Contract):
    """A value that a message may give."""

    type: Literal["text", "texts", "integer", "integers", "choice", "money"] = "text"
    patterns: list[Pattern]
    """Tried in order. The first group that took part in the match is the value; for `integers`, all numbers in it.
    For `texts` all matches are, in lower case with "and" between.
    An `integer` with the groups `first`, `last` and `month`, of the first day, is the nights between these days.
    `money` has the groups `amount`, `currency` and `about`; the last two take part only if they are said."""
    values: dict[str, Any] = Field(default_factory=dict)
    """`choice`: words in lower case -> value. `money`: words for currencies -> code, "" if none is said."""
    title: bool = False
    """Whether to write it with capitals, like a name."""
    replaces: list[str] = Field(default_factory=list)
    """Slots whose older values this one makes obsolete."""
    defaults: list[Any] = Field(default_factory=list)
    """Values that stand in for it, literals or `$slot`. The first that is known counts."""
    max: int | None = None
    counts: dict[str, tuple[int, int]] = Field(default_factory=dict)
    """For `integers`: further facts, each with the bounds of the numbers that it counts."""


class Action(Contract):
    """A text that applies if all of `if` is known."""

    conditions: list[str] = Field(default_factory=list, alias="if")
    text: str


class Skeleton(Contract):
    """A step that is planned if all of `if` and none of `unless` is known."""

    id: str
    tool: str
    conditions: list[str] = Field(default_factory=list, alias="if")
    """Besides slots and wants: `failed.STEP` and the like, the status of a step of the turn."""
    unless: list[str] = Field(default_factory=list)
    args: dict[str, Any]
    """Literals, `$slot` or `$slot[0].field`, `{$from: step.path}`, `{$each: step}` (all its repetitions), `{$list:
    […]}`, an object of these, or a list of these, of which the first known one counts. `{slot}` in a literal or a path
    is filled in."""
    must: list[str] = Field(default_factory=list)
    """Arguments without which the step is not planned."""
    repeat: str | None = None
    """A slot that holds the number of repetitions."""
    in_sequence: str | None = None
    """A fact that makes repetitions wait for each other."""
    on_need_error: Literal["skip", "run"] | None = None
    reason: str


class Recount(Contract):
    """A question about a result that the conversation remembers."""

    conditions: list[str] = Field(alias="if")
    tool: str
    """The tool whose newest result answers it."""
    hint: str
    """The template that words the result."""


class AnswerRule(Contract):
    """A passage's answer to a kind of question."""

    asks: Pattern
    """A pattern of the question."""
    says: Pattern
    """A pattern of the answer."""
    attribute: str
    """The attribute that the answer gives to the subject of the question."""


class Domain(Contract):
    """The offline model's rules for one subject. `parts` in its file are pieces of its patterns."""

    name: str
    version: int
    examples: list[str]
    """What users may say, as examples. The catalogues have them in other languages."""
    remembers: bool = False
    """Whether earlier messages of the conversation count."""
    is_last: bool = False
    """Whether it understands nearly everything and is therefore asked after all others."""
    slots: dict[str, SlotRule]
    wants: dict[str, Pattern]
    whole: dict[str, list[str]] = Field(default_factory=dict)
    """Want -> the wants that it stands for."""
    named: list[str] = Field(default_factory=list)
    """Wants that count only if a message names them. If it names none, all others are wanted."""
    passing: list[str] = Field(default_factory=list)
    """Wants that do not outlive their message. After it, the earlier wants hold again."""
    recalls: dict[str, str] = Field(default_factory=dict)
    """Facts from the memory in the prompt: `tool:field` of the newest result of that tool."""
    recounts: list[Recount] = Field(default_factory=list)
    """Answers from what the conversation remembers. Of those that fit, the one with the newest result stands in for all
    steps."""
    beside: dict[str, str] = Field(default_factory=dict)
    """Passing want -> slot. If the message gives that slot too, the other wants that it names hold as well."""
    needs: list[str] = Field(default_factory=list)
    """Wants of which at least one must be known; if empty, any want will do."""
    requires: dict[str, str] = Field(default_factory=dict)
    """Slots that must be known, each with the question that asks for it."""
    requires_of: dict[str, dict[str, str]] = Field(default_factory=dict)
    """The same for single wants: want -> slots with their questions."""
    answers: list[AnswerRule] = Field(default_factory=list)
    """Kinds of answers in passages. They become facts: `claims` of each document, `sources` with references to the
    passages, `answer` with a sentence that says it, and `agreed` or `disputed`."""
    thought: str
    actions: list[Action]
    replies: list[Action] = Field(default_factory=list)
    """The answer itself, if results hold it."""
    hints: list[Action] = Field(default_factory=list)
    """The synthesis hint. Further facts here: `again` if the subject has come up before, and `planned.STEP`."""
    steps: list[Skeleton]

    @model_validator(mode="before")
    @classmethod
    def write_parts_out(cls, read: dict[str, Any]) -> Any:
        """Put the pieces in the place of `(?&name)`."""
        parts = read.get("parts", {})
        rest = {name: value for name, value in read.items() if name != "parts"}
        return map_texts(rest, lambda text: _PART.sub(lambda part: parts[part[1]], text)) if parts else read

    @property
    def usual(self) -> set[str]:
        """The wants that hold if a message names none."""
        return set(self.wants) - set(self.named)


class Courtesy(Contract):
    """A polite message and the reply to it."""

    pattern: Pattern
    reply: str


class Manners(Contract):
    """The rules that all domains share."""

    version: int
    numbers: dict[str, int]
    places: dict[str, int]
    """The words by which a choice is taken from a list, with its index."""
    only: Pattern
    also: Pattern
    without: str
    barred: dict[str, str]
    """The reply if a tool cannot be used now, by the reason."""
    courtesies: list[Courtesy]


class Words(Contract):
    """Words that are read as others: those of other languages, and words with typos."""

    version: int
    words: dict[str, list[str]]
    """English -> what is read as it, in lower case."""

    @cached_property
    def english(self) -> dict[str, str]:
        """Word -> its English."""
        return {word: english for english, words in self.words.items() for word in words}

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Any of the words, the longest first: the group that took part is the word."""
        return re.compile("|".join(self._of_script(*script) for script in _SCRIPTS), re.IGNORECASE)

    def read(self, message: str) -> str:
        """Return a message with English words in place of those that are known."""
        return _BLANKS.sub(" ", self.pattern.sub(self._in_english, message)).strip()

    def _in_english(self, found: re.Match[str]) -> str:
        word = found[found.lastindex or 0]
        joint = "and " if word != found[0] and found[0][0] in _ANDS else ""
        english = joint + self.english[word.lower()]
        return f" {english} " if found.lastindex == len(_SCRIPTS) else english

    def _of_script(self, letters: re.Pattern[str], form: str) -> str:
        """Return a pattern of the words that begin with these letters."""
        known = [word for word in self.english if letters.match(word)]
        words = "|".join(map(re.escape, sorted(known, key=lambda word: (-len(word), word))))
        return form.format(f"({words})")


class Rules(Contract):
    """All rules."""

    words: Words
    manners: Manners
    domains: list[Domain]
    """In the order in which they are asked."""


@lru_cache
def load_rules(folder: Path) -> Rules:
    """Read the rules in a folder such as prompts/offline, and those of enabled packs."""
    read = {name: read_yaml(path.read_text("utf-8")) for name, path in profile_files(folder).items()}
    manners, words = read.pop("conversation"), read.pop("words")
    # A question about a date could also be a new date for a trip, so the narrow domains are asked first.
    domains = sorted(map(Domain.model_validate, read.values()), key=lambda domain: (domain.is_last, domain.remembers))
    return Rules(words=words, manners=manners, domains=domains)
