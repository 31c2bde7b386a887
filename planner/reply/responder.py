"""Compose the reply from the results of the steps: from a template if one fits, otherwise by the language model.

In: the input of a reply.  Out: the reply with its artifacts, and who wrote it.  Failures are stated in plain words.
Every figure has its source. A text with other figures is rewritten once, and then its sentences with such figures are
left out. If these were the larger part, templates stand in.
"""

import hashlib
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import orjson

from turnloom.models.contracts.artifact import Artifact
from turnloom.models.contracts.turn import Reply, Usage
from turnloom.models.errors import Unavailable
from turnloom.models.runtime.logging import log
from turnloom.planner.languages import formats
from turnloom.planner.llm.protocol import Generation, LanguageModel, OnDelta, PromptMessage
from turnloom.planner.reply.artifacts import artifacts_of
from turnloom.planner.reply.critic import Criticism, criticise, doubtful_names, is_due
from turnloom.planner.reply.grounding import Grounding, Violation, check
from turnloom.planner.reply.raw_text import is_raw
from turnloom.planner.reply.reply_input import ReplyInput
from turnloom.planner.reply.reply_prompts import (
    NO_USAGE,
    ReplyDraft,
    fill_templates,
    responding_messages,
    revising_messages,
    rewriting_messages,
)
from turnloom.planner.reply.sentence_stream import LONGEST_REPLY, Sentences, without_violations
from turnloom.planner.reply.suggestions import suggestions
from turnloom.planner.reply.template_choice import Part, last_resort, template_parts

_UNSURE = "responding/unsure"
"""The template that stands in where no sentence can be sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Composed:
    """A reply and its origin."""

    reply: Reply
    output: Any
    """The formatter's result, if the plan has one."""
    usage: Usage
    written_by: str
    """`template:NAME@VERSION` with all names, `llm:NAME`, or `planner` if its own answer was kept."""
    language: str
    """The locale of what templates write."""
    prompts: tuple[str, ...]
    """`name@version` of everything rendered for it."""
    inputs: str
    """A digest of the material of the reply."""
    refused: tuple[Violation, ...] = ()
    """The violations that were found in the drafts."""
    drafts: int = 1
    """How many texts were written until one could stand."""
    criticism: Criticism | None = None
    """A critic's judgement of the text that stood first."""
    missed: Unavailable | None = None
    """Why the language model wrote nothing although it should have."""

    def trace(self) -> dict[str, Any]:
        """Return how the reply came about, as it is stored."""
        refused = [{"text": found.text, "kind": found.kind, "reason": found.reason} for found in self.refused]
        return {
            "written_by": self.written_by,
            "language": self.language,
            "prompts": list(self.prompts),
            "inputs": self.inputs,
            "drafts": self.drafts,
            "refused": refused,
            **({"critic": self.criticism.trace()} if self.criticism else {}),
        }


def asks_llm(given: ReplyInput) -> bool:
    """Return whether the language model writes the reply or criticises it."""
    return llm_writes(given) or is_due(given)


def llm_writes(given: ReplyInput) -> bool:
    """Return whether the language model writes the reply: neither has the planner, nor do templates fit."""
    return not given.is_written and template_parts(given) is None


def compose(given: ReplyInput, llm: LanguageModel, on_delta: OnDelta | None = None) -> Composed:
    """Write the reply. If the language model is unavailable, the template of results stands in.

    `on_delta` gets the text of the language model sentence by sentence, each after its check. A text that is refused or
    rewritten later is not taken back there. The returned reply is the one that counts.
    """
    due = is_due(given)
    # A text that a critic will judge may be rewritten, so it is not streamed.
    writing = _Writing(given, llm, on_delta if on_delta and not due else lambda _: None)
    tried = writing.drafts()
    criticism = writing.criticised(tried, is_due=due)
    draft, grounding = tried[-1]
    stale_at = writing.time_of(grounding.oldest_price_s) if grounding.oldest_price_s else None
    text, around = _framed(writing.sendable(draft, grounding), given, stale_at)
    sources = [source for draft, _ in tried for source in draft.prompts]
    sources += [*(criticism.prompts if criticism else ()), *around]
    reply = Reply(
        text=text,
        artifacts=writing.artifacts,
        question=given.question(),
        grounded=None if writing.is_unchecked(draft) else not grounding.violations,
        sources=list(grounding.sources),
        suggestions=suggestions(given),
    )
    formatted = given.formatted()
    return Composed(
        reply=reply,
        output=formatted.result if formatted else None,
        usage=_total([draft.usage for draft, _ in tried] + ([criticism.usage] if criticism else [])),
        written_by=draft.written_by,
        language=str(given.prompts.language.locale),
        prompts=tuple(dict.fromkeys(sources)),
        inputs=_digest(given),
        refused=tuple(violation for _, grounding in tried for violation in grounding.violations),
        drafts=len(tried),
        criticism=criticism,
        missed=writing.missed if tried[0][0].is_templated else None,
    )


class _Writing:
    """The writing of one reply. It ends with the first text that can stand, at least for the larger part."""

    def __init__(self, given: ReplyInput, llm: LanguageModel, on_delta: OnDelta) -> None:
        self.artifacts: list[Artifact] = artifacts_of(given)
        self._given = given
        self._llm = llm
        self._on_delta = on_delta
        self.missed: Unavailable | None = None
        """The last failure of the language model."""
        self._evidence = given.evidence()
        self._end = time.monotonic() + given.material.left_ms / 1000

    def drafts(self) -> list[tuple[ReplyDraft, Grounding]]:
        """Write until a text has no violations.

        A text from a template is the last one, whatever it holds.
        """
        tried: list[tuple[ReplyDraft, Grounding]] = []
        writers: tuple[Callable[[list[tuple[ReplyDraft, Grounding]]], ReplyDraft | None], ...] = (
            self._first,
            self._again,
            self._last,
        )
        for write in writers:
            draft = write(tried)
            if draft is None:
                continue
            tried.append((draft, self._check(draft)))
            if draft.is_templated or not tried[-1][1].violations:
                break
        return tried

    def sendable(self, draft: ReplyDraft, grounding: Grounding) -> str:
        """Return the sentences of a text that may be sent."""
        return without_violations(draft.text, grounding.violations) or self._fill([Part(_UNSURE)]).text

    def criticised(self, tried: list[tuple[ReplyDraft, Grounding]], *, is_due: bool) -> Criticism | None:
        """Let a critic judge the text that is about to stand, if it is due or finds names in it that nothing has.

        If it objects, add a rewritten text, which stands if it has no violations.
        """
        draft, _ = tried[-1]
        names = doubtful_names(self._given, draft)
        if self.missed or not (is_due or names):
            return None
        criticism = criticise(self._given, draft.text, names, self._llm, self._end - time.monotonic())
        if criticism is None or criticism.judgement.verdict == "ok":
            return criticism
        judgement = criticism.judgement.model_dump()
        anew = self._generate(*revising_messages(self._given, draft, judgement), lambda _: None)
        if anew is not None:
            grounding = self._check(anew)
            tried.insert(len(tried) - bool(grounding.violations), (anew, grounding))
        return criticism

    def is_unchecked(self, draft: ReplyDraft) -> bool:
        """Return whether a text is a direct answer of a planner whose own answers need no source."""
        return draft.written_by == "planner" and self._given.is_direct and self._given.agent.grounding == "results"

    def time_of(self, age_s: int) -> str:
        """Return the time that many seconds ago, as text for the user."""
        now = self._given.now
        then, language = now - timedelta(seconds=age_s), self._given.prompts.language
        at = formats.clock(language, then.isoformat())
        return at if then.date() == now.date() else f"{formats.day(language, then.date())}, {at}"

    def _check(self, draft: ReplyDraft) -> Grounding:
        if self.is_unchecked(draft):
            return Grounding((), ())
        self._evidence.add_authored(draft.authored, "template")
        return check(draft.text, self._evidence)

    def _first(self, _tried: list[tuple[ReplyDraft, Grounding]]) -> ReplyDraft | None:
        material = self._given.material
        if material.reply and self._given.is_written:
            return ReplyDraft(text=material.reply[:LONGEST_REPLY], written_by="planner")
        parts = template_parts(self._given)
        if parts is not None:
            return self._fill(parts)
        sentences = Sentences(self._evidence, self._on_delta)
        draft = self._generate(*responding_messages(self._given), sentences)
        if draft is not None:
            sentences.finish()
        return draft

    def _again(self, tried: list[tuple[ReplyDraft, Grounding]]) -> ReplyDraft | None:
        if not tried or self._given.material.has_fixed_plan:
            return None
        draft, grounding = tried[-1]
        return self._generate(*rewriting_messages(self._given, draft, grounding.violations), lambda _: None)

    def _last(self, tried: list[tuple[ReplyDraft, Grounding]]) -> ReplyDraft | None:
        if tried and _is_mostly_fit(*tried[-1]):
            return None
        is_unsure = self._given.material.reply and self._given.is_direct
        return self._fill([Part(_UNSURE)] if is_unsure else last_resort(self._given))

    def _fill(self, parts: Sequence[Part]) -> ReplyDraft:
        draft = fill_templates(self._given, parts, self.artifacts)
        return replace(draft, text=draft.text[:LONGEST_REPLY])

    def _generate(
        self, messages: list[PromptMessage], prompts: tuple[str, ...], on_delta: OnDelta
    ) -> ReplyDraft | None:
        """Let the language model write. Return None if it is unavailable or its text cannot be sent."""
        left_s = self._end - time.monotonic()
        try:
            generation = self._llm.stream(
                messages, on_delta, purpose="reply", model=self._given.agent.llm, timeout_s=left_s
            )
        except Unavailable as error:
            log.warning("reply.downgraded", code=error.code)
            self.missed = error
            return None
        if not _is_usable(generation):
            log.warning("reply.downgraded", code=generation.finish_reason)
            if generation.finish_reason == "cut":
                self.missed = Unavailable("the reply broke off", code="llm_unreachable", passes=True)
            return None
        text = generation.text.strip()
        if is_raw(text, self._given.internal_names):
            log.warning("reply.downgraded", code="raw")
            return None
        return ReplyDraft(text=text, written_by=f"llm:{generation.model}", prompts=prompts, usage=generation.usage)


def _framed(text: str, given: ReplyInput, stale_at: str | None) -> tuple[str, list[str]]:
    """Return a text with the notes before and after it, and `name@version` of these notes."""
    render = given.prompts.render
    before = [render("responding/stood_in")] if given.material.stood_in else []
    after = [render("responding/stale", at=stale_at)] if stale_at else []
    after += [render("responding/readings", readings=readings)] if (readings := given.readings()) else []
    parts = [*(note.text for note in before), text, *(note.text for note in after)]
    return "\n\n".join(parts), [note.source for note in (*before, *after)]


def _is_mostly_fit(draft: ReplyDraft, grounding: Grounding) -> bool:
    """Return whether the larger part of a text remains without the sentences that must not be said."""
    return 2 * len(without_violations(draft.text, grounding.violations)) >= len(draft.text)


def _is_usable(generation: Generation) -> bool:
    is_text = bool(generation.text.strip()) and len(generation.text) <= LONGEST_REPLY
    return is_text and generation.finish_reason in ("stop", "length")


def _total(used: Iterable[Usage]) -> Usage:
    total = NO_USAGE
    for usage in used:
        total = total.plus(usage)
    return total


def _digest(given: ReplyInput) -> str:
    """Return 16 hexadecimal digits that identify the material of a reply."""
    material = given.material
    steps = [(step.id, step.tool, step.status, step.result, step.error) for step in material.steps]
    remembered = [(entry.turn, entry.step) for entry in material.memory]
    parts = [material.message, material.reply, material.synthesis_hint, dict(given.slots), steps, remembered]
    packed = orjson.dumps(parts, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS, default=str)
    return hashlib.sha256(packed).hexdigest()[:16]
