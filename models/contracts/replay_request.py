"""A replay as a caller asks for it, as it is kept, and as it is shown."""

from typing import Any, Literal, Self

from pydantic import Field, model_validator

from turnloom.models.contracts.base import Contract, GivenMoment, Moment
from turnloom.models.contracts.fault_file import FaultFile
from turnloom.models.contracts.foreign import ForeignConversation
from turnloom.models.contracts.replay import ReplayedTurn, ReplayReport

ResultSource = Literal["recorded", "live-read", "simulated"]
"""Where tool results come from: all from the record; those of tools that only read from calls made now; all from the
record, with the faults of a fault file."""

ReplayStatus = Literal["running", "finished", "cancelled"]


class _Setting(Contract):
    """The results and the language model that turns are run again with."""

    tools: ResultSource = "recorded"
    faults: FaultFile | None = None
    """With `simulated`: what goes wrong. Its `duplicates` and `restarts` have no effect on a replay."""
    model: str | None = Field(None, max_length=128)
    """The language model in place of those that agents and messages name."""

    @model_validator(mode="after")
    def faults_are_simulated(self) -> Self:
        """Refuse faults for results that are not simulated, and the other way round."""
        if (self.faults is not None) != (self.tools == "simulated"):
            raise ValueError("`faults` goes with `tools` being `simulated`, and `simulated` needs it")
        if self.faults is not None and not self.faults.faults:
            raise ValueError("the fault file has no `faults` of tool calls, the only ones that a replay simulates")
        return self


class _Choices(_Setting):
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
    repeat: int = Field(1, ge=1, le=20)
    """How often each turn is replayed. What differs between its replays is noise, not a change."""
    max_different: float | None = Field(None, ge=0, le=1)
    """The largest share of turns that may go another way, for the verdict."""


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


class ForkChanges(Contract):
    """The changes of a turn that is run again from one of its steps."""

    plan: dict[str, Any] | None = None
    """The plan that takes the place of the turn's. All its steps are run. None: the recorded one is kept, or, with
    another text or language model, it is planned again."""
    results: dict[str, Any] = Field(default_factory=dict, max_length=500)
    """Step -> the result that takes the place of the recorded one. It is one of the step's tool."""


class ForkRequest(_Setting, ForkChanges):
    """A recorded turn to run again from one of its steps."""

    step: str = Field(max_length=64)
    """The step. It and what depends on it run again; all others keep their recorded results."""
    prompts: dict[str, str] = Field(default_factory=dict)
    """Texts in place of those in effect: name -> text, named as under prompts/ without the ending."""


class ForkedTurn(Contract):
    """The turn that a replay runs again from one of its steps."""

    turn_id: str
    step: str


class ReplayOptions(_Choices):
    """The choices of a replay as they are kept."""

    texts: dict[str, str] = Field(default_factory=dict)
    """All texts that replaced the shipped ones when it began: the tenant's, and over them those of the request. They
    are kept, so that a replay that goes on later is the same."""
    changed: list[str] = Field(default_factory=list)
    """The names of the texts that the request brought."""
    source: Literal["ledger", "request"] = "ledger"
    fork: ForkedTurn | None = None
    """The turn that alone is replayed, from one of its steps. Its changes are kept with its conversation."""

    def kept(self) -> dict[str, Any]:
        """Return it as JSON to keep, without what a worker of the release before does not know and it does not use."""
        unused = {name: True for name in ("last", "turn_id", "fork") if getattr(self, name) is None}
        # Of a fault file a replay reads the faults of calls only.
        return self.model_dump(mode="json", exclude={**unused, "faults": {"duplicates", "restarts"}})


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
    fork: ForkedTurn | None
    """The turn that alone is replayed, from one of its steps; None for a replay of conversations."""
    created_at: Moment
    finished_at: Moment | None
    report: ReplayReport | None = None
    """Once it has ended, if one replay is asked for. After a cancellation it covers what was done."""
    turn: ReplayedTurn | None = None
    """With the report of a fork, for keys with the scope `turns:read`: the turn beside its record."""


class ReplayList(Contract):
    """Replays, the newest first."""

    items: list[ReplayView]
    next_cursor: str | None
    """Hand it back as `cursor` for the next page; None at the end."""


def about(options: ReplayOptions) -> dict[str, Any]:
    """Return what a report says of the replay: what was replayed and what was changed."""
    turn_id = options.fork.turn_id if options.fork else options.turn_id
    elsewhere = f"turn {turn_id}" if turn_id else "conversations of another system"
    span = [f"since {options.since.isoformat()}"] if options.since else [elsewhere]
    span += [f"from the step {options.fork.step}"] if options.fork else []
    span += [f"until {options.until.isoformat()}"] if options.until else []
    span += [f"agent {options.agent}"] if options.agent else []
    span += [f"a sample of {options.sample} with the seed {options.seed}"] if options.sample else []
    span += [f"the last {options.last} conversations"] if options.last else []
    said = {"replayed": ", ".join(span), "tool results": options.tools}
    said |= {"each turn": f"replayed {options.repeat} times"} if options.repeat > 1 else {}
    said |= {"language model": options.model} if options.model else {}
    return said | ({"changed prompts": ", ".join(options.changed)} if options.changed else {})
