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
    last: int | None = Field(None, ge=1)
    """So many of the conversations, those with the latest turns. Imported ones are not among them."""
    turn_id: str | None = Field(None, max_length=64)
    """Only this turn. The report then shows it even if it goes the same way."""
    seed: int = 0
    tools: ResultSource = "recorded"
    faults: FaultFile | None = None
    """With `simulated`: what goes wrong."""
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
        return self


class ReplayRequest(_Choices):
    """A replay to make: of recorded conversations by time, of one turn, or of what the request brings."""

    conversations: list[ForeignConversation] | None = Field(None, min_length=1)
    """Conversations that another system has recorded; then there is no `since`."""
    prompts: dict[str, str] = Field(default_factory=dict)
    """Texts in place of those in effect: name -> text, named as under prompts/ without the ending."""

    @model_validator(mode="after")
    def has_one_source(self) -> Self:
        """Refuse a request without conversations, or with two sources of them."""
        if sum(source is not None for source in (self.since, self.conversations, self.turn_id)) != 1:
            raise ValueError("give one of `since`, `conversations` and `turn_id`")
        return self

    @model_validator(mode="after")
    def chooses_in_one_way(self) -> Self:
        """Refuse two ways to choose among conversations, and the last ones of those that the request brings."""
        if self.last is not None and (self.sample is not None or self.since is None):
            raise ValueError("`last` goes with `since`, and not with `sample`")
        if self.turn_id is not None and (self.until or self.agent or self.sample):
            raise ValueError("`turn_id` names one turn: leave out `until`, `agent` and `sample`")
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
    last: int | None
    turn_id: str | None
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
    elsewhere = f"the turn {options.turn_id}" if options.turn_id else "conversations of another system"
    span = [f"since {options.since.isoformat()}"] if options.since else [elsewhere]
    span += [f"until {options.until.isoformat()}"] if options.until else []
    span += [f"agent {options.agent}"] if options.agent else []
    span += [f"a sample of {options.sample} with the seed {options.seed}"] if options.sample else []
    span += [f"the last {options.last} conversations"] if options.last else []
    said = {"replayed": ", ".join(span), "tool results": options.tools}
    said |= {"each turn": f"replayed {options.repeat} times"} if options.repeat > 1 else {}
    said |= {"language model": options.model} if options.model else {}
    return said | ({"changed prompts": ", ".join(options.changed)} if options.changed else {})
