"""The text of a reply while it comes, for clients that cannot take back what they have shown."""

from turnloom.models.connections.redis import DELTA, Item
from turnloom.web.event_stream import Position, read_position


class ReplyText:
    """The pieces of a reply, each once and in order.

    Deltas are passed on while none is missing and while all are of one attempt. The whole reply says what is left.
    """

    def __init__(self) -> None:
        self.is_whole = False
        self._told = ""
        self._last: Position | None = None
        self._is_broken = False

    def piece(self, item: Item) -> str:
        """Return what an event adds to the text; often nothing."""
        name, kind, data = item
        if kind == DELTA:
            return self._delta(read_position(name), data["text"])
        return self.rest(data["text"]) if kind == "reply.done" else ""

    def rest(self, whole: str) -> str:
        """Return what is missing of the whole reply. If it differs from what was passed on, that is all of it."""
        self.is_whole = True
        return whole.removeprefix(self._told) if whole.startswith(self._told) else f"\n\n{whole}"

    def _delta(self, at: Position, text: str) -> str:
        before = (at[0], at[1] - 1)
        self._is_broken |= before != (self._last or (at[0], 0))
        if self._is_broken:
            return ""
        self._last = at
        self._told += text
        return text
