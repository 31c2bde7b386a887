"""A direct reply is read while the plan that holds it is written, so that the user need not wait for the plan's end.

In: the pieces of the model's answer.  Out: the checked sentences of its reply, once it is clear that no step follows.
"""

from pydantic_core import from_json

from turnloom.models.runtime.settings import settings
from turnloom.planner.draft.context import PlanningContext
from turnloom.planner.llm.protocol import OnDelta
from turnloom.planner.reply.sentence_stream import Sentences, direct_sentences

_STRIDE = 40
"""An answer is read again after so many characters, or after a sixteenth of it if that is more: in linear time."""


class ReplyReader:
    """Takes the pieces of an answer, and passes on its reply sentence by sentence."""

    def __init__(self, sentences: Sentences, sure_from: float) -> None:
        """`sure_from`: below this confidence the reply is held back, because a critic may change it."""
        self._sentences = sentences
        self._sure_from = sure_from
        self._text = ""
        self._next = _STRIDE
        self._told = ""

    def __call__(self, piece: str) -> None:
        self._text += piece
        if len(self._text) < self._next:
            return
        self._next = len(self._text) + max(_STRIDE, len(self._text) // 16)
        reply = self._reply()
        if len(reply) > len(self._told):
            self._sentences(reply[len(self._told) :])
            self._told = reply

    def finish(self, reply: str) -> None:
        """Pass on the rest of the plan's reply. If nothing has been passed on, it stays so."""
        if self._told and reply.startswith(self._told):
            self._sentences(reply[len(self._told) :])
            self._sentences.finish()

    def _reply(self) -> str:
        """Return the reply so far; nothing if it may not be passed on."""
        before, brace, rest = self._text.partition("{")
        if "<" in before:
            return ""  # the model thinks aloud, and may write a plan that is not its answer
        try:
            plan = from_json(brace + rest, allow_partial="trailing-strings")
        except ValueError:
            return ""
        # What stands after the steps can only be written when all of them are.
        if not isinstance(plan, dict) or plan.get("steps") != [] or list(plan)[-1] != "reply":
            return ""
        confidence, reply = plan.get("confidence"), plan["reply"]
        is_sure = not isinstance(confidence, int | float) or confidence >= self._sure_from
        return reply if is_sure and isinstance(reply, str) else ""


def reply_reader(context: PlanningContext, on_delta: OnDelta | None) -> ReplyReader | None:
    """Return the reader of a plan's reply; None if nobody wants it, a critic judges it, or the mode wants steps."""
    agent = context.agent
    critic = "off" if settings().critic == "off" else agent.critic
    failed = any(step.status in ("failed", "unknown") for step in context.done)
    if on_delta is None or context.mode == "plan" or critic == "always" or (failed and critic != "off"):
        return None
    return ReplyReader(direct_sentences(context, on_delta), 0.0 if critic == "off" else agent.critic_below)
