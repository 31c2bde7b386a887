"""Catalogues: one file per language, with what it is recognised by and its words for the texts of the templates.

In: files under prompts/languages, those of packs, and those of a tenant.  Out: the language of a reply.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import Field, field_validator

from turnloom.models.errors import NotFound
from turnloom.models.runtime.settings import settings
from turnloom.models.runtime.yaml_text import read_plain_yaml
from turnloom.planner.languages.detection import Detection, Signs
from turnloom.planner.languages.language import ENGLISH, PLACEHOLDER, Category, Language, Words, locale_of
from turnloom.planner.languages.short_answers import LONGEST, answers_in, plain
from turnloom.planner.profile_files import read_file
from turnloom.tools.pack_index import prompt_folders


class WordCatalogue(Signs):
    """A language: its signs and its words."""

    yes_words: str = Field("", max_length=1_000)
    """What people write who approve, separated by commas. The translation of "yes" is one of them."""
    no_words: str = Field("", max_length=1_000)
    """What people write who refuse, and the translation of "no"."""
    messages: dict[str, Words] = Field(default_factory=dict)
    """English text -> translation. Of a text that depends on a number, the English plural is the name."""

    @field_validator("messages", mode="before")
    @classmethod
    def forms_exist(cls, messages: Any) -> Any:
        """Refuse a form of a text with a number that no language has."""
        for english, words in messages.items() if isinstance(messages, dict) else ():
            if isinstance(words, dict) and (unknown := words.keys() - set(get_args(Category))):
                forms = ", ".join(get_args(Category))
                raise ValueError(f"{english!r} has a form {min(map(str, unknown))!r}; there are: {forms}")
        return messages

    @field_validator("messages")
    @classmethod
    def places_exist(cls, messages: dict[str, Words]) -> dict[str, Words]:
        """Refuse a translation with places that the English text does not have, or without the category `other`."""
        for english, words in messages.items():
            if not isinstance(words, str) and "other" not in words:
                raise ValueError(f"{english!r} has no translation of the category other")
            written = [words] if isinstance(words, str) else words.values()
            places = {name for each in written for name in PLACEHOLDER.findall(each)}
            if unknown := sorted(places - set(PLACEHOLDER.findall(english))):
                raise ValueError(f"{english!r} has no place {unknown[0]!r}")
        return messages

    def answers(self, meaning: Literal["yes", "no"]) -> str:
        """Return the words for yes or for no, separated by commas."""
        said = self.messages.get(meaning, meaning)
        return f"{self.yes_words if meaning == 'yes' else self.no_words},{said if isinstance(said, str) else ''}"

    def over(self, other: "WordCatalogue") -> "WordCatalogue":
        """Return the other catalogue with the fields and messages of this one over its own."""
        fields = {**other.model_dump(exclude_unset=True), **self.model_dump(exclude_unset=True)}
        return WordCatalogue.model_validate(fields | {"messages": {**other.messages, **self.messages}})


@dataclass(frozen=True)
class Languages:
    """The languages of replies, by their tag, such as `he`."""

    catalogues: Mapping[str, WordCatalogue]

    def chosen(self, locale: str | None, texts: Iterable[str]) -> Language:
        """Return the language of a user with this locale.

        Without a locale it is the language of the first of the texts that shows one. It is English where the language
        is not known or has no messages.
        """
        tag = locale or next(filter(None, map(self.language_of, texts)), "en")
        found = locale_of(tag)
        if found and found.language == "en":
            return Language(found, self.english.messages)
        catalogue = self.catalogues.get(found.language) if found else None
        return Language(found, catalogue.messages) if found and catalogue and catalogue.messages else self.english

    def get(self, tag: str) -> WordCatalogue:
        """Return the catalogue of a tag.

        Raises:
            NotFound: there is none; the message names those that exist.
        """
        if tag not in self.catalogues:
            raise NotFound(f"there is no language {tag!r}; there are: {', '.join(self.catalogues)}")
        return self.catalogues[tag]

    @cached_property
    def english(self) -> Language:
        """English, with the words that its catalogue replaces."""
        catalogue = self.catalogues.get("en")
        return Language(ENGLISH.locale, catalogue.messages) if catalogue else ENGLISH

    def meaning(self, text: str) -> Literal["yes", "no"] | None:
        """Return what a short answer means in any of the languages; None if it is no word for yes or no."""
        said = plain(text) if len(text) <= LONGEST else ""
        is_yes, is_no = said in self._yes, said in self._no
        return None if is_yes == is_no else "yes" if is_yes else "no"

    def language_of(self, text: str) -> str | None:
        """Return the tag of the language of a text; None if the text does not show it."""
        return self._detection.language_of(text)

    def under(self, tag: str, own: WordCatalogue) -> "Languages":
        """Return the same languages with a catalogue over the one of that tag, or beside the others."""
        return Languages({**self.catalogues, tag: own.over(self.catalogues.get(tag, WordCatalogue()))})

    @cached_property
    def _yes(self) -> frozenset[str]:
        return frozenset(word for each in self.catalogues.values() for word in answers_in(each.answers("yes")))

    @cached_property
    def _no(self) -> frozenset[str]:
        return frozenset(word for each in self.catalogues.values() for word in answers_in(each.answers("no")))

    @cached_property
    def _detection(self) -> Detection:
        return Detection(self.catalogues)


def read_catalogue(tag: str, text: str) -> WordCatalogue:
    """Read a catalogue.

    Raises:
        ValueError: it is no catalogue, or its tag is no language.
    """
    found = locale_of(tag)
    if found is None or found.language != tag:
        raise ValueError(f"{tag!r} is no tag of a language, such as it or he")
    return WordCatalogue.model_validate(read_plain_yaml(text) or {})


@lru_cache
def load_languages(folder: Path) -> Languages:
    """Read every catalogue in a folder, such as prompts/languages, over those of enabled packs.

    Raises:
        Misconfigured: a file is no catalogue.
    """
    languages = Languages({})
    for each in (*reversed(prompt_folders(settings().packs)), folder.parent):
        for path in sorted((each / folder.name).glob("*.yaml")):
            languages = languages.under(path.stem, read_file(path, partial(read_catalogue, path.stem)))
    return languages
