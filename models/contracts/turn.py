"""A turn, as a caller posts it, as we answer it, and as it can be read later."""

import unicodedata
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, Field

from turnloom.models.contracts.approval import Approval
from turnloom.models.contracts.artifact import Artifact
from turnloom.models.contracts.base import Contract, Moment
from turnloom.models.contracts.delivery import DeliveryView
from turnloom.models.contracts.plan import Effect, StepStatus
from turnloom.models.contracts.time_zone import Timezone

FinalTurnStatus = Literal["succeeded", "failed", "cancelled", "superseded"]
FINAL_TURN_STATUSES: frozenset[str] = frozenset(get_args(FinalTurnStatus))

TurnStatus = Literal["queued", "planning", "running", "waiting_approval", "responding", FinalTurnStatus]

Stop = Literal["cancelled", "superseded", "late", "paused"]
"""Why the work on a turn ended before it was done: the caller cancelled it, another turn replaced it, the deadline
came, a person took its conversation over."""

Mode = Literal["auto", "direct", "plan", "react", "adaptive"]

Again = Literal["observe", "blocked"]
"""Why a turn is planned again: to continue from the results, or because failures block the answer."""

Bound = Literal["rounds", "time", "cost", "repetition", "no_progress"]
"""The bound that ended a turn's work before its planner declared it done."""

Priority = Literal["interactive", "batch"]
"""The class of a turn: somebody waits for the reply, or nobody does."""

OnError = Literal["best_effort", "fail_fast"]
OnBusy = Literal["auto", "enqueue", "reject", "interrupt", "rollback", "merge"]


_BLANK_LETTERS = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and signs that show nothing."""


def _readable(message: str) -> str:
    """Refuse a message that holds only spaces, control characters and characters without width."""
    if any(unicodedata.category(each)[0] in "LNPS" and each not in _BLANK_LETTERS for each in message):
        return message
    raise ValueError("is blank; write at least one letter, digit or sign")


MessageText = Annotated[str, Field(min_length=1, max_length=8000), AfterValidator(_readable)]
"""1-8000 characters, among them a letter, digit or sign."""

Identifier = Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[\x21-\x7e]+$")]
"""A caller's own id: 1-128 visible ASCII characters."""


def _addressable(conversation_id: str) -> str:
    """Refuse an id that reads like the address of a part of a conversation: erasing it would be ambiguous."""
    for part in PARTS:
        if conversation_id.endswith(f"/{part}"):
            raise ValueError(f"must not end in /{part}, which is an address below a conversation")
    return conversation_id


PARTS = ("turns", "memory", "knowledge")
"""The parts that have an address below a conversation's."""

Locale = Annotated[str, Field(max_length=35, pattern=r"^[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8})*$")]
"""A language, such as `en` or `he-IL`."""


class User(Contract):
    """The person who wrote the message, as the caller describes them."""

    id: Identifier | None = None
    name: str | None = Field(None, max_length=200)
    email: str | None = Field(None, max_length=320)
    timezone: Timezone | None = None
    locale: Locale | None = None


class TurnRequest(Contract):
    """One message to answer. Only `message` is required."""

    message: MessageText
    """What the user wrote: at least one letter, digit or sign."""
    conversation_id: Annotated[Identifier, AfterValidator(_addressable)] | None = None
    """The caller's own id of the conversation; a new conversation if absent. It must not end in `/turns`, `/memory`
    or `/knowledge`."""
    agent: str | None = Field(None, max_length=64)
    """The agent that answers; if absent, the conversation's own, or the default."""
    message_id: Identifier | None = None
    """The channel's id of the message: the same id again gives the same turn."""
    user: User | None = None
    mode: Mode | None = None
    """How to work on it; the agent's own mode if absent."""
    llm: str | None = Field(None, max_length=128)
    """The language model that plans and answers: a name that the deployment allows. If absent, the agent's own, or the
    default."""
    on_error: OnError = "best_effort"
    """`best_effort`: independent steps go on after a failure. `fail_fast`: what has not started is cancelled."""
    on_busy: OnBusy = "auto"
    """What happens to the message while another turn of the conversation is active. `enqueue`: it waits. `reject`: it
    is refused (409). `interrupt`: the active turn is stopped, and its results are kept. `rollback`: the same, but later
    turns do not see its results. `merge`: it becomes a part of the last turn that nobody has begun to plan; if there is
    none, or it is full, the message waits. `auto`: merge if a turn is waiting, enqueue if the active turn makes or has
    made a change, otherwise interrupt. A message with a plan never merges; it waits. A message with a `sequence` is
    merged only into the one before it, and with `auto` interrupts nothing that was written after it."""
    priority: Priority = "interactive"
    """`interactive`: somebody waits for the reply. `batch`: nobody does. Batch turns are worked on a few at a time
    beside a tenant's others, and have a day unless they name a deadline."""
    deadline_ms: int | None = Field(None, ge=100, le=86_400_000)
    """Time until the reply, from acceptance."""
    plan: dict[str, Any] | None = None
    """A ready plan, which skips the planner; needs the scope `plans:submit`."""
    callback_url: str | None = Field(None, max_length=2000, pattern=r"^https?://[^\x00-\x20\x7f]+$")
    """Where the final turn is posted, signed: a public address, or one that `TURNLOOM_ALLOWED_HOSTS` names."""
    metadata: dict[str, Any] = Field(default_factory=dict)
    """The caller's own data, handed back with the turn. A `sequence` in it is the sender's count of the conversation's
    messages, 1, 2, 3, …: they are answered in this order, however they arrive. If one is missing, later ones wait for
    it for a while after their own acceptance. Values other than whole numbers from 1 to 2^53 are ignored."""


class Links(Contract):
    """Addresses of the turn and of its events."""

    self: str
    events: str


class TurnAccepted(Contract):
    """The turn is durably recorded."""

    turn_id: str
    conversation_id: str
    seq: int
    """Place in the conversation, from 1."""
    status: TurnStatus
    links: Links


class TurnState(Contract):
    """The status of a turn."""

    turn_id: str
    status: TurnStatus
    """`responding` until the reply is made from the results so far."""


class Question(Contract):
    """A question that the user has to answer before the work can go on."""

    fields: list[str]
    choices: dict[str, list[Any]] = Field(default_factory=dict)


class Source(Contract):
    """The origin of a piece of the reply's text."""

    text: str
    step: str
    """The step's id; `message` for the user's message, `agent` for the agent's own texts and for what a person wrote in
    its place."""
    path: str
    """Where in the step's result, as a reference writes it."""
    turn: str | None = None
    """The earlier turn that the step belonged to; None for this one."""
    stale: bool = False
    """Whether it is a price that may have changed since; then the text says so."""


class Reply(Contract):
    """The reply to a message."""

    text: str
    artifacts: list[Artifact] = Field(default_factory=list)
    question: Question | None = None
    grounded: bool | None = None
    """Whether every figure was traced to its source. False if some could not be: an ellipsis replaces them. None if
    this was not checked."""
    sources: list[Source] = Field(default_factory=list)
    """The origin of each figure of the text."""
    suggestions: list[str] = Field(default_factory=list)
    """What the user may say next, at most three."""


class Usage(Contract):
    """Use of the language model, and its cost."""

    llm_calls: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    """Prompt tokens that the endpoint had cached."""
    completion_tokens: int = 0
    cost: float | None = None
    """In US dollars; None if the model's price is not known."""

    @property
    def tokens(self) -> int:
        """Tokens of prompts and answers together."""
        return self.prompt_tokens + self.completion_tokens

    def plus(self, other: "Usage") -> "Usage":
        """Return the sum of both; an unknown cost makes the sum unknown."""
        costs = (self.cost, other.cost)
        return Usage(
            llm_calls=self.llm_calls + other.llm_calls,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            cost=None if None in costs else sum(cost for cost in costs if cost is not None),
        )


class StepView(Contract):
    """The current state of a step."""

    id: str
    tool: str
    args: dict[str, Any]
    """The arguments in the plan; if a person is asked to approve the call, those of the call."""
    needs: list[str]
    """The needed steps, including those that references imply."""
    effect: Effect
    status: StepStatus
    attempt: int
    """Claims so far; retries inside a claim are events."""
    worker: str | None
    cache: str | None
    """The source of its result, if not its own call: `plan`, the same call earlier in the plan; `memory`, the same call
    earlier in the conversation; `shared`, the same call of somebody in the tenant."""
    queued_at: Moment | None
    started_at: Moment | None
    finished_at: Moment | None
    duration_ms: float | None
    queue_ms: float | None
    result: Any = None
    error: dict[str, Any] | None = None
    """Its error; for a step that is tried again later, the reason and the time, `retry_at`."""
    approval: Approval | None = None
    """The approval, if a person was asked."""


class Timings(Contract):
    """The time spent on each part of a turn, in milliseconds; None for parts that did not happen."""

    queued_ms: float | None
    planning_ms: float | None
    tools_ms: float | None
    """Wall time from the first step's start to the last step's end."""
    responding_ms: float | None
    total_ms: float | None
    critical_path_ms: float | None
    """The longest path through the plan by the steps' own durations."""


class TurnView(Contract):
    """A whole turn, with its plans, steps and reply."""

    turn_id: str
    conversation_id: str
    seq: int
    agent: str
    mode: str
    priority: Priority
    """`batch` only if no interactive message was merged into it or waited behind it before it was begun."""
    status: TurnStatus
    superseded_by: str | None
    action: str | None
    plans: list[dict[str, Any]]
    """Each revision of the plan as it was validated."""
    steps: list[StepView]
    executed_order: list[str]
    """Ids of the steps that ran, in the order of their start."""
    output: Any
    """The formatter's result, if the plan ends in one."""
    synthesis_hint: str | None
    reply: Reply | None
    author: str | None
    """The person who wrote the reply in place of the agent; None if the agent did."""
    usage: Usage
    timings: Timings
    error: dict[str, Any] | None
    metadata: dict[str, Any]
    channel: str
    """`api`, or the channel that its message came from."""
    account: str | None
    """The account of the channel."""
    deliveries: list[DeliveryView]
    """The parts of what is sent to the person, if it came from a channel: requests for approval, and the reply."""
    created_at: Moment
    trace_id: str
