"""Responding begins when the steps have ended: the turn is planned again, or the results become its reply.

After the reply the conversation's next turn may start.
"""

import time
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

from turnloom.models.connections.database import statement
from turnloom.models.connections.redis import append_delta, settle_deltas
from turnloom.models.contracts.material import Material
from turnloom.models.contracts.turn import Again, Bound
from turnloom.models.errors import Unavailable
from turnloom.models.ledger import replies, turns
from turnloom.models.ledger.turns import Ending, FinishedTurn
from turnloom.models.runtime.crash_points import reach
from turnloom.models.runtime.logging import log
from turnloom.models.runtime.settings import settings
from turnloom.planner.agents import AgentProfile
from turnloom.planner.llm.hooked_model import CallOrigin
from turnloom.planner.llm.metering import Meter
from turnloom.planner.loop import Move, next_move
from turnloom.planner.memory.slot_state import settled
from turnloom.planner.prompts import shipped
from turnloom.planner.reply.apologies import apology
from turnloom.planner.reply.reply_input import ReplyInput, prepared
from turnloom.planner.reply.responder import asks_llm, compose
from turnloom.workers.broker.app import app
from turnloom.workers.dispatch import dispatch_deliveries, dispatch_turns, send
from turnloom.workers.turns.accounting import metered
from turnloom.workers.turns.endings import final_status, with_output
from turnloom.workers.turns.llm_slots import llm_slots
from turnloom.workers.turns.postponement import postpone
from turnloom.workers.turns.process_parts import registry, tailored
from turnloom.workers.turns.turn_events import committing, follow
from turnloom.workers.upkeep.heartbeat import leases


@app.task(name="respond")
def respond_task(turn_id: str, attempt: int) -> None:
    """Answer a turn whose last step ended on a queue that is reserved for other work."""
    respond(UUID(turn_id), attempt)


def respond(turn_id: UUID, attempt: int, material: Material | None = None, *, may_plan_again: bool = True) -> None:
    """Continue a turn whose steps have ended, under this fence: plan it again, or make its reply.

    `material`: the reply's material, if the caller has it from the commit that gave it this fence.
    """
    with leases.holding_turn(turn_id, attempt):
        material = material or _gathered(turn_id)
        if material is not None:
            _respond(turn_id, attempt, material, may_plan_again=may_plan_again)


def _gathered(turn_id: UUID) -> Material | None:
    with statement() as db:
        return replies.gather(db, turn_id)


def _respond(turn_id: UUID, attempt: int, material: Material, *, may_plan_again: bool) -> None:
    move = next_move(material, _agent(material)) if may_plan_again else Move()
    if move.again is not None:
        _plan_again(turn_id, attempt, move.again)
    else:
        origin = CallOrigin(
            tenant_id=material.tenant_id,
            conversation_id=material.conversation_id,
            turn_id=turn_id,
            agent=material.agent,
            user=material.person,
        )
        with metered(origin, material.allowances) as meter:
            _answer(turn_id, attempt, material, move.bound, meter)


def _plan_again(turn_id: UUID, attempt: int, again: Again) -> None:
    with committing(turn_id, "turn.planned_again") as committed, statement() as db:
        is_given_back = committed(turns.plan_again(db, turn_id, attempt, again))
    if not is_given_back:
        log.warning("turn.fenced", turn_id=str(turn_id), attempt=attempt)
        return
    log.info("turn.planned_again", turn_id=str(turn_id), reason=again)
    dispatch_turns([turn_id])


def _answer(turn_id: UUID, attempt: int, material: Material, bound: Bound | None, meter: Meter) -> None:
    try:
        ended = _composed(turn_id, attempt, material, bound, meter)
    except Exception as error:  # noqa: BLE001 - whatever goes wrong here, the user gets a word
        log.exception("reply.failed", turn_id=str(turn_id))
        ended = _Ended(broken(error, str(turn_id)))
    if ended is None or (ended.missed is not None and postpone(turn_id, attempt, ended.missed)):
        return
    finish(turn_id, attempt, ended.ending, meter)


class _Ended(NamedTuple):
    """The end of a turn."""

    ending: Ending
    missed: Unavailable | None = None
    """Why the language model has not written the reply, although it should have."""


def finish(turn_id: UUID, attempt: int, ending: Ending, meter: Meter | None = None) -> None:
    """End a turn, announce it, and dispatch the turns that may start now."""
    reach("reply.composed")
    with statement() as db:
        finished = turns.finish(db, turn_id, attempt, ending, meter.calls if meter else ())
    conclude(turn_id, attempt, ending, finished, meter)


def conclude(
    turn_id: UUID, attempt: int, ending: Ending, finished: FinishedTurn | None, meter: Meter | None = None
) -> None:
    """Carry out the consequences of the commit that ended a turn. `finished` is None if its fence was old."""
    if finished is None:
        log.warning("turn.fenced", turn_id=str(turn_id), attempt=attempt)
        return
    if meter:
        meter.settle()
    follow(turn_id, finished, "turn.finished")
    log.info("turn.finished", turn_id=str(turn_id), status=ending.status)
    dispatch_turns(finished.released)
    if finished.deliver:
        dispatch_deliveries([turn_id])
    if finished.call_back:
        send("call_back", turn_id, queue="deliver")


def broken(error: Exception, turn_id: str) -> Ending:
    """Return the ending of a turn that our own fault has broken."""
    reason = {"code": "internal_error", "message": f"{type(error).__name__}; see the log"}
    # The shipped text: the fault may be in a text of the tenant.
    word = apology("internal_error", shipped(), reference=turn_id)
    trace = {"written_by": f"template:{word.source}", "prompts": [word.source]}
    return Ending("failed", word.reply, trace, error=reason)


def _agent(material: Material) -> AgentProfile:
    """Return the agent of the turn; the default one if the tenant has removed it since the plan was made."""
    agents = tailored(material.tenant_id, material.conversation_id).agents
    agent = agents.profiles.get(material.agent) or agents.get(settings().default_agent)
    return agent.asked(material.llm, material.manner)


def ending_at_once(turn_id: UUID, material: Material, meter: Meter) -> Ending | None:
    """Return the ending of a turn; None if the language model takes part in its reply."""
    given, slots = _prepared(turn_id, material, None)
    return None if asks_llm(given) else _ended(turn_id, given, slots, meter).ending


def _composed(turn_id: UUID, attempt: int, material: Material, bound: Bound | None, meter: Meter) -> _Ended | None:
    """Return the ending of the turn; None if it waits for a slot of the language model."""
    given, slots = _prepared(turn_id, material, bound)
    if not asks_llm(given):
        return _ended(turn_id, given, slots, meter)
    again = partial(send, "respond", turn_id, attempt, queue="respond")
    held = leases.holding_turn(turn_id, attempt)
    with llm_slots().slot(material.tenant_id, turn_id, again, meanwhile=held) as is_mine:
        return _ended(turn_id, given, slots, meter) if is_mine else None


def _prepared(turn_id: UUID, material: Material, bound: Bound | None) -> tuple[ReplyInput, dict[str, Any] | None]:
    """Return the input of the reply, and the conversation's slots if results have changed them."""
    agent, tailor = _agent(material), tailored(material.tenant_id, material.conversation_id)
    slots = settled(material.slots, material.steps, agent.slots)
    given = replace(prepared(material, agent, registry(), tailor), bound=bound)
    return with_output(given, turn_id), slots if slots != material.slots else None


def _ended(turn_id: UUID, given: ReplyInput, slots: dict[str, Any] | None, meter: Meter) -> _Ended:
    deltas = Deltas(turn_id, given.material.last_event)
    meter.made_for(given.now)
    composed = compose(given, meter, deltas)
    deltas.settle()
    status, error = final_status(given.material)
    trace = {"agent": given.agent.source, **composed.trace(), **deltas.trace()}
    ending = Ending(status, composed.reply, trace, output=composed.output, error=error, slots=slots, bound=given.bound)
    return _Ended(ending, composed.missed)


class Deltas:
    """The pieces of a reply for live readers, numbered after the turn's last event."""

    def __init__(self, turn_id: UUID, after: int) -> None:
        self._turn_id = turn_id
        self._after = after
        self._number = 0
        self._began_at = 0.0

    def __call__(self, text: str) -> None:
        self._number += 1
        if self._number == 1:
            self._began_at = time.monotonic()
        append_delta(self._turn_id, self._after, self._number, text)

    def settle(self) -> None:
        """Wait until live readers can read all the pieces. Call it before the event that follows them."""
        if self._number:
            settle_deltas(self._turn_id)

    def trace(self) -> dict[str, float]:
        """Return the time since the first piece, for the trace of what is about to be recorded; nothing without one."""
        return {"streaming_ms": round((time.monotonic() - self._began_at) * 1000, 3)} if self._number else {}
