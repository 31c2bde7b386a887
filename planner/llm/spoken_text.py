"""The part of an answer that is meant for others: what a reasoning model thinks aloud is left out, also of a stream.

Such a model writes `<think>…</think>` before its answer if its server does not take that out. Some write only the end
of it, because their prompt template has opened it already.
"""

import re

_NAMES = ("think", "thinking", "thought", "reasoning")
_OPENINGS = (*(f"<{name}>" for name in _NAMES), "[think]")
_OPENING = re.compile(rf"<(?:{'|'.join(_NAMES)})>|\[think\]", re.IGNORECASE)
_CLOSING = re.compile(rf"</(?:{'|'.join(_NAMES)})>|\[/think\]", re.IGNORECASE)
_LONGEST = len("</reasoning>")
_UNOPENED = re.compile(rf"(?:^|\n)(?:{_CLOSING.pattern})|(?:{_CLOSING.pattern})\n", re.IGNORECASE)
"""An end at the edge of a line. A text that speaks about the mark has it inside a line."""


class SpokenText:
    """A text that arrives in pieces, without its thoughts and the blanks before it."""

    def __init__(self, *, begins_in_thought: bool = False) -> None:
        """`begins_in_thought`: this model writes only the end of its thought."""
        self._spoken: list[str] = []
        self._held = ""
        self._in_thought = begins_in_thought
        self._searched = 0
        """The place in the held text before which no thought ends."""

    def __str__(self) -> str:
        return "".join(self._spoken)

    def __bool__(self) -> bool:
        return bool(self._spoken)

    def add(self, piece: str) -> str:
        """Add a piece and return what can be passed on."""
        self._held += piece
        passed = ""
        while True:
            if self._in_thought:
                end = _CLOSING.search(self._held, self._searched)
                self._searched = max(0, len(self._held) - _LONGEST)
                if end is None:
                    return passed
                self._held, self._in_thought = self._held[end.end() :], False
            begin = _OPENING.search(self._held)
            passed += self._speak(begin.start() if begin else _before_mark(self._held))
            if begin is None:
                return passed
            self._in_thought, self._searched = True, 0

    def finish(self) -> str:
        """Return what was held back. What nobody ends is no thought, unless the text begins with it."""
        if self._in_thought and not self._spoken and _OPENING.match(self._held):
            self._held = ""
        return self._speak(len(self._held))

    def drop_unopened(self) -> bool:
        """Drop a thought that only ends, from a text that is finished. Return whether there was one."""
        ends = [match.end() for match in _UNOPENED.finditer(str(self))]
        if ends:
            self._spoken = [str(self)[ends[-1] :].lstrip()]
        return bool(ends)

    def _speak(self, end: int) -> str:
        text, self._held = self._held[:end], self._held[end:]
        text = text if self._spoken else text.lstrip()
        self._spoken += [text] if text else []
        return text


def _before_mark(text: str) -> int:
    """Return the place where a mark may begin that has not arrived whole; otherwise the end."""
    place = max(text.rfind("<"), text.rfind("["))
    is_mark = place >= 0 and any(opening.startswith(text[place:].lower()) for opening in _OPENINGS)
    return place if is_mark else len(text)
