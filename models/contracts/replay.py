"""A replay runs recorded conversations again, and reports which of their turns go differently."""

from typing import Any, Literal

from pydantic import Field

from turnloom.models.contracts.base import Contract, Moment
from turnloom.models.contracts.plan import Effect
from turnloom.models.contracts.turn import Usage

ReplayedOutcome = Literal["same", "different", "diverged", "failed"]
"""How a replayed turn went. `diverged`: it made a call for which there is no recorded result. `failed`: it could not be
replayed, or ended without a reply."""

Aspect = Literal[
    "tools", "arguments", "edges", "slots", "artifacts", "question", "grounding", "policy", "usage", "latency", "status"
]
"""A part of a turn's structure that is compared. The wording of a reply is none."""

DifferenceKind = Literal["added", "removed", "changed", "higher", "lower"]
"""`added`, `removed`: only one side has it. `higher`, `lower`: a number or a figure went up or down."""

UNRECORDED_ELSEWHERE: tuple[Aspect, ...] = (
    "edges", "slots", "artifacts", "question", "grounding", "policy", "usage", "latency"
)  # fmt: skip
"""The aspects that a conversation from another system says nothing of."""


class StepRecord(Contract):
    """One tool call of a turn, as it was recorded or replayed."""

    id: str
    tool: str
    """Of ours, or of another system that recorded the conversation. Empty: its record names neither the tool nor the
    arguments, and so the step may stand for any call."""
    args: dict[str, Any]
    """The arguments of the call, with references filled in where they are known."""
    needs: list[str] = Field(default_factory=list)
    """Steps that it waited for, including those that references imply."""
    effect: Effect = "read"
    status: str = "succeeded"
    result: Any = None
    error: dict[str, Any] | None = None
    duration_ms: float = 0.0
    ended_at: Moment | None = None
    """When a recorded one ended; None if that is not known, and in a replay."""
    revision: int = 1
    recorded: str | None = None
    """In a replay: the id of the recorded step whose result it took; None if there was none, or for a recorded step."""


class TurnRecord(Contract):
    """One turn of a conversation in the form in which turns are compared: a recorded one, or its replay."""

    message: str
    agent: str
    at: Moment
    """When its message was accepted."""
    status: str
    error: dict[str, Any] | None = None
    """`{code, message}` of a turn that failed."""
    steps: list[StepRecord] = Field(default_factory=list)
    slots: dict[str, Any] = Field(default_factory=dict)
    """The conversation's slots after it."""
    reply: str | None = None
    artifacts: list[dict[str, Any]] = Field(default_factory=list)
    """Of each artifact `{kind, size}`. The size is how many rows, options, days or facts it has."""
    question: dict[str, Any] | None = None
    """Fields and choices of the question, if it asked one."""
    grounded: bool | None = None
    violations: list[str] = Field(default_factory=list)
    """Codes of the agent's policies and plan rules that were broken on the way, such as refused plans."""
    usage: Usage | None = None
    """None if it was not recorded."""
    latency_ms: float | None = None
    """The model's time and the steps' durations along the critical path; None if no durations are known."""
    unrecorded: list[Aspect] = Field(default_factory=list)
    """Aspects that the record says nothing of. They are not compared."""


class Difference(Contract):
    """One way in which a replayed turn differs from the recorded one."""

    aspect: Aspect
    kind: DifferenceKind = "changed"
    subject: str = ""
    """What differs, the same for the same thing in other turns, such as `pms.get_availability.adults`; empty if the
    aspect says it."""
    text: str
    """In words, such as `pms.get_availability: adults is 3, was 2`."""
    recorded: Any = None
    replayed: Any = None


class ReplayedTurn(Contract):
    """A turn that was replayed, beside its record."""

    conversation_id: str
    seq: int
    """Its place in the conversation, from 1."""
    outcome: ReplayedOutcome
    differences: list[Difference] = Field(default_factory=list)
    noise: list[Aspect] = Field(default_factory=list)
    """Aspects in which repeated replays of it differ among themselves."""
    reason: str | None = None
    """Why it diverged or failed."""
    recorded: TurnRecord
    replayed: TurnRecord | None
    unused: list[str] = Field(default_factory=list)
    """Steps whose given result no call has taken, if it was run again from a step."""

    def kept(self) -> dict[str, Any]:
        """Return it as JSON to keep. What the release before does not know is left out if it says nothing."""
        return self.model_dump(mode="json", exclude=None if self.unused else {"unused"})


FigureName = Literal["latency_ms", "tokens", "llm_calls", "cost"]
"""`cost` is in US dollars, `tokens` are those of prompts and answers."""


class Tolerances(Contract):
    """The distances at which figures count as different, as shares of the recorded ones."""

    usage: float = Field(0.1, ge=0, allow_inf_nan=False)
    """Of calls, tokens and cost of the language model."""
    latency: float = Field(0.1, ge=0, allow_inf_nan=False)
    latency_ms: float = Field(50.0, ge=0, allow_inf_nan=False)
    """Latencies less than this apart never differ."""


class Proportion(Contract):
    """A share of what was counted, and where it lies with 95 % confidence (Wilson's interval)."""

    count: int
    of: int
    share: float | None
    """None if nothing was counted."""
    low: float
    high: float


class AspectCount(Contract):
    """The number of turns that differ in an aspect."""

    aspect: Aspect
    turns: int
    """Turns that differ in it."""
    noisy: int
    """Turns whose repeated replays differ in it among themselves."""


class ChangeCount(Contract):
    """The number of turns in which the same thing differs in the same way."""

    aspect: Aspect
    subject: str
    kind: DifferenceKind
    turns: int


class Spread(Contract):
    """The distribution of a figure over turns."""

    mean: float
    p50: float
    p90: float
    p95: float
    p99: float
    most: float
    bins: list[int]
    """Turns in each bin. The bounds are with the figure."""


class FigureChange(Contract):
    """A figure before and after, over the turns of which both are known."""

    name: FigureName
    turns: int
    before: Spread
    after: Spread
    bounds: list[float]
    """The lower bounds of the bins. A bin ends where the next one begins; the last one has no end."""


class ToolChange(Contract):
    """The calls of one tool before and after, over the turns that were replayed."""

    tool: str
    before: int
    after: int
    failed_before: int
    failed_after: int
    turns: int
    """Turns in which its calls or their arguments differ."""


class ReportedStep(Contract):
    """A step of a plan, as a report draws it."""

    id: str
    tool: str
    needs: list[str]
    status: str
    mark: Literal["same", "changed", "only_here"]
    """`changed`: with other arguments or another status than on the other side. `only_here`: the other side has no such
    call."""


class ReportedTurn(Contract):
    """A turn that a report shows beside its record."""

    conversation_id: str
    seq: int
    agent: str
    outcome: ReplayedOutcome
    reason: str | None
    differences: list[Difference]
    noise: list[Aspect]
    message: str
    """Long texts are cut, here and in the replies."""
    reply_before: str | None
    reply_after: str | None
    before: list[ReportedStep]
    after: list[ReportedStep]


class ReplayReport(Contract):
    """The outcome of a replay. The same replayed turns make the same report, in whatever order they come."""

    about: dict[str, str]
    """What was replayed and what was changed, for the reader."""
    conversations: int
    turns: int
    outcomes: dict[ReplayedOutcome, int]
    different: Proportion
    """Turns that did not go the same way: `different`, and also `diverged` and `failed`, of which nobody has seen that
    they do."""
    only_figures: int
    """Turns among `different` that do the same and differ in usage or predicted latency only."""
    aspects: list[AspectCount]
    changes: list[ChangeCount]
    """The most frequent first."""
    figures: list[FigureChange]
    tools: list[ToolChange]
    listed: list[ReportedTurn]
    """All turns that did not go the same way, by conversation and place. Of a replay of one turn, that turn."""
    max_different: float | None = Field(ge=0, le=1)
    """The largest share of turns that may go another way; None: any."""
    passed: bool
    verdict: str
