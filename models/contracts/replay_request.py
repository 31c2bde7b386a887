"""A replay as a caller asks for it, as it is kept, and as it is shown."""

from typing import Any, Literal, Self

from pydantic import Field, model_validator

from turnloom.models.contracts.base import Contract, GivenMoment, Moment
from turnloom.models.contracts.fault_file import FaultFile
from turnloom.models.contracts.foreign import ForeignConversation
from turnloom.models.contracts.replay import ReplayReport

ResultSource = Literal["recorded", "live-read", "simulated"]
"""Where tool results come from: all from the record; those of tools that only read from calls made now; all from the
record, with the faults of a fault file."""

ReplayStatus = Literal["running", "finished", "cancelled"]


class _Choices(Contract):
    """The choices of a replay."""

    since: GivenMoment | None = None
    """Turns received from then on."""
    until: GivenMoment | None = None
    """Turns received before then."""
    agent: str | None = Field(None, max_length=64)
    """Of recorded conversations, only those that this agent has answered. Conversations in the request that name no
    agent are replayed with it."""
    sample: int | None = Field(None, ge=1)
    """So many of the conversations, chosen by the seed."""
    seed: int = 0
    tools: ResultSource = "recorded"
    faults: FaultFile | None = None
    """With `simulated`: what goes wrong. Its `duplicates` and `restarts` have no effect on a replay."""
    model: str | None = Field(None, max_length=128)
    """The language model in place of those that agents and messages name."""
    repeat: int = Field(1, ge=1, le=20)
    """How often each turn is replayed. What differs between its replays is noise, not a change."""
    max_different: float | None = Field(None, ge=0, le=1)
    """The largest share of turns that may go another way, for the verdict."""

    @model_validator(mode="after")
    def faults_are_simulated(self) -> Self:
        """Refuse faults for results that are not simulated, and the other way round."""
        if (self.faults is not None) != (self.tools == "simulated"):
            raise ValueError("`faults` goes with `tools` being `simulated`, and `simulated` needs it")
        if self.faults is not None and not self.faults.faults:
            raise ValueError("the fault file has no `faults` of tool calls, the only ones that a replay simulates")
        return self


class ReplayRequest(_Choices):
    """A replay to make: of recorded conversations by time, or of those that the request brings."""

    conversations: list[ForeignConversation] | None = Field(None, min_length=1)
    """Conversations that another system has recorded; then there is no `since`."""
    prompts: dict[str, str] = Field(default_factory=dict)
    """Texts in place of those in effect: name -> text, named as under prompts/ without the ending."""

    @model_validator(mode="after")
    def has_one_source(self) -> Self:
        """Refuse a request without conversations, or with two sources of them."""
        if (self.since is None) == (self.conversations is None):
            raise ValueError("give either `since` or `conversations`")
        return self


class ReplayOptions(_Choices):
    """The choices of a replay as they are kept."""

    texts: dict[str, str] = Field(default_factory=dict)
    """All texts that replaced the shipped ones when it began: the tenant's, and over them those of the request. They
    are kept, so that a replay that goes on later is the same."""
    changed: list[str] = Field(default_factory=list)
    """The names of the texts that the request brought."""
    source: Literal["ledger", "request"] = "ledger"


class ReplayView(Contract):
    """A replay and its progress."""

    replay_id: str
    status: ReplayStatus
    conversations: int
    """Conversations to replay. Those that were erased since are not counted."""
    done: int
    """Conversations that are replayed."""
    eta_s: float | None = None
    """Seconds that the rest takes at the pace so far; None if that is not known, or it has ended."""
    since: Moment | None
    until: Moment | None
    agent: str | None
    sample: int | None
    seed: int
    tools: ResultSource
    model: str | None
    repeat: int
    prompts: list[str]
    """Names of the texts that it replaces."""
    max_different: float | None
    created_at: Moment
    finished_at: Moment | None
    report: ReplayReport | None = None
    """Once it has ended, if one replay is asked for. After a cancellation it covers what was done."""


class ReplayList(Contract):
    """Replays, the newest first."""

    items: list[ReplayView]


def about(options: ReplayOptions) -> dict[str, Any]:
    """Return what a report says of the replay: what was replayed and what was changed."""
    span = [f"since {options.since.isoformat()}"] if options.since else ["conversations of another system"]
    span += [f"until {options.until.isoformat()}"] if options.until else []
    span += [f"agent {options.agent}"] if options.agent else []
    span += [f"a sample of {options.sample} with the seed {options.seed}"] if options.sample else []
    said = {"replayed": ", ".join(span), "tool results": options.tools}
    said |= {"each turn": f"replayed {options.repeat} times"} if options.repeat > 1 else {}
    said |= {"language model": options.model} if options.model else {}
    return said | ({"changed prompts": ", ".join(options.changed)} if options.changed else {})
