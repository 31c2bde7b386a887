"""A turn replay plans, runs and answers one recorded turn again: in one process, in virtual time, without the ledger.

The planner and the responder are the real ones, with the language model. Steps are executed by a virtual run, and tool
results come from the given source alone. So nothing can be sent and no effect can be had.
"""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from turnloom.models.contracts.knowledge import Lesson
from turnloom.models.contracts.material import Material
from turnloom.models.contracts.plan import Plan
from turnloom.models.contracts.recorded import RecordedConversation, RecordedTurn
from turnloom.models.contracts.replay import TurnRecord
from turnloom.models.contracts.step_result import StepResult
from turnloom.models.contracts.turn import Again, Bound, Usage
from turnloom.models.errors import Invalid, InvalidPlan, TurnloomError
from turnloom.models.ledger.replies import HISTORY
from turnloom.planner.draft.context import PlanningContext
from turnloom.planner.draft.drafting import draft
from turnloom.planner.knowledge.learning import Observation, Round, learn
from turnloom.planner.knowledge.learning import shown as shown_knowledge
from turnloom.planner.llm.hooked_model import CallOrigin, with_hooks
from turnloom.planner.llm.metering import Meter
from turnloom.planner.loop import next_move
from turnloom.planner.memory.slot_state import merged, settled, shown
from turnloom.planner.plan.expansion import stand_in
from turnloom.planner.plan.phases import so_far, steps_now
from turnloom.planner.plan.validation import validate
from turnloom.planner.reply.reply_input import ReplyInput
from turnloom.planner.reply.responder import Composed, compose
from turnloom.workers.compiling import Columns
from turnloom.workers.replay import records
from turnloom.workers.replay.first_context import LLM_S, first_context
from turnloom.workers.replay.past import Past
from turnloom.workers.replay.setting import Setting
from turnloom.workers.replay.tool_results import ToolResults
from turnloom.workers.replay.virtual_run import DIVERGED, VirtualRun
from turnloom.workers.turns.accounting import allowances_of
from turnloom.workers.turns.apologies import reason_of, word_for
from turnloom.workers.turns.endings import final_status, with_output
from turnloom.workers.turns.tool_availability import ToolAvailability


class TurnReplay:
    """The replay of one turn."""

    def __init__(
        self,
        setting: Setting,
        conversation: RecordedConversation,
        turn: RecordedTurn,
        past: Past,
        offered: ToolAvailability,
        results: ToolResults,
    ) -> None:
        """`offered` are the tools that the agent may use for this person."""
        self._setting, self._conversation, self._turn, self._past = setting, conversation, turn, past
        self._tools = offered.tools
        self._turn_id = turn.key(conversation.conversation_id)
        self._agent = setting.agent_for(turn)
        self._first = first_context(turn, past, setting.tailored, self._agent, offered)
        self._mode, self._now = self._first.mode, self._first.now
        origin = CallOrigin(
            tenant_id=setting.tenant_id,
            conversation_id=conversation.conversation_id,
            turn_id=self._turn_id,
            agent=self._agent.name,
            user=turn.person,
        )
        llm = with_hooks(setting.llm, lambda *_: None, origin)
        self._meter = Meter(llm, allowances_of(self._agent, Usage()))
        self._run = VirtualRun(
            setting.tools,
            results.of,
            cap=self._agent.max_parallel,
            on_error=turn.on_error,
            deadline_ms=turn.deadline_ms,
        )
        self._slots = dict(past.slots)
        self._plans: list[Plan] = []
        self._traces: list[dict[str, Any]] = []
        self._known = past.knowledge
        self._learned: set[str] = set()
        self._stood_in = False

    def replayed(self) -> TurnRecord:
        """Replay the turn and return its record.

        Raises:
            Unavailable: the language model does not answer.
            Invalid: the message says nothing.
        """
        if not self._turn.record.message.strip():
            raise Invalid("its message is blank")
        again: Again | None = None
        while True:
            try:
                plan = self._planned(again)
            except InvalidPlan as error:
                if not self._plans:
                    return self._without_plan(error)
                return self._answered(None)
            self._execute(plan)
            if any(step.status == DIVERGED for step in self._run.steps.values()):
                return self._record(DIVERGED)
            move = next_move(self._material(), self._agent)
            if move.again is None:
                return self._answered(move.bound)
            again = move.again

    def _planned(self, again: Again | None) -> Plan:
        """Return the next revision of the plan.

        Raises:
            InvalidPlan: the model's plan was refused twice, the caller's is refused now, or no kept plan is left.
            Unavailable: the language model does not answer.
        """
        if self._setting.keeps_plans:
            return self._kept_plan()
        if self._turn.submitted_plan is not None:
            tools = self._setting.tools.allowed(self._agent.tools)
            return validate(self._turn.submitted_plan, tools, self._agent.limits)
        context = self._with_knowledge(self._context(again))
        drafted = draft(context, self._meter)
        trace = {"repaired": drafted.repaired}
        if drafted.plan is not None:
            self._traces.append(trace)
            return drafted.plan
        self._traces.append({**trace, "faults": list(drafted.faults)})
        return self._standing_in(InvalidPlan("; ".join(fault["message"] for fault in drafted.faults)[:2_000]))

    def _kept_plan(self) -> Plan:
        if len(self._plans) == len(self._turn.plans):
            raise InvalidPlan("the recorded plan has no further revision")
        return Plan.model_validate(self._turn.plans[len(self._plans)])

    def _standing_in(self, error: InvalidPlan) -> Plan:
        if not self._plans and self._mode != "direct":
            books = self._setting.tailored.playbooks.for_agent(self._agent.name, self._tools)
            known = {**self._turn.person, **shown(self._slots, self._agent.slots)}
            if (found := stand_in(books, known, self._tools, self._agent.limits)) is not None:
                self._stood_in = True
                return found.plan
        raise error

    def _context(self, again: Again | None) -> PlanningContext:
        return replace(
            self._first,
            now=self._now + timedelta(milliseconds=self._elapsed_ms()),
            slots=self._slots,
            revision=len(self._plans),
            again=again,
            done=self._results(),
        )

    def _with_knowledge(self, context: PlanningContext) -> PlanningContext:
        """Return the context; in mode `adaptive` with the knowledge, including the last revision's results."""
        if context.mode != "adaptive":
            return context
        context = replace(context, last=so_far(self._plans, {step.id for step in context.done}))
        lesson: Lesson | None = None
        if self._plans:
            new = [step for step in context.done if step.status == "succeeded" and step.id not in self._learned]
            self._learned |= {step.id for step in new}
            round_ = Round(
                turn=str(self._turn_id),
                at=context.now,
                observations=[Observation(step=s.id, tool=s.tool, args=s.args, result=s.result) for s in new],
                assumptions=(context.last.assumptions or []) if context.last else [],
            )
            self._known, lesson = learn(self._known, round_, context, self._meter)
        return replace(context, knowledge=shown_knowledge(self._known, context), lesson=lesson)

    def _execute(self, plan: Plan) -> None:
        if self._agent.slots and (plan.slots or plan.forget):
            self._slots = merged(self._slots, plan.slots or {}, plan.forget or [], self._agent.slots)
        is_phased = self._mode == "adaptive" and self._turn.submitted_plan is None and not self._stood_in
        steps = steps_now(plan) if is_phased else plan.steps
        self._plans.append(plan)
        columns = Columns(self._setting.tools)
        self._run.at_ms = max(self._run.at_ms, self._elapsed_ms())
        self._run.run([columns.of(step, place) for place, step in enumerate(steps)], len(self._plans))

    def _answered(self, bound: Bound | None) -> TurnRecord:
        material = self._material()
        slots = settled(self._slots, material.steps, self._agent.slots)
        tailor = self._setting.tailored
        given = ReplyInput(
            material=replace(material, left_ms=round(LLM_S * 1000)),
            agent=self._agent,
            tools=self._setting.tools,
            prompts=tailor.prompts_for(material.person, material.message, material.history),
            now=self._now + timedelta(milliseconds=self._elapsed_ms()),
            slots=shown(slots, self._agent.slots),
            bound=bound,
        )
        composed = compose(with_output(given, self._turn_id), self._meter, lambda _: None)
        if composed.missed is not None:
            raise composed.missed
        self._slots = slots
        status, error = final_status(material)
        return self._record(status, error, composed)

    def _without_plan(self, error: TurnloomError) -> TurnRecord:
        """Return the record of a turn whose plan was refused."""
        texts = self._setting.tailored
        prompts = texts.prompts_for(self._turn.person, self._turn.record.message)
        reply = word_for(texts, prompts, self._agent.name, "invalid_plan").reply
        return self._record("failed", reason_of(error)).model_copy(
            update={"reply": reply.text, "grounded": reply.grounded, "question": _question(reply)}
        )

    def _material(self) -> Material:
        turn, last = self._turn, self._plans[-1]
        elapsed_ms = round(self._elapsed_ms())
        return Material(
            tenant_id=self._setting.tenant_id,
            conversation_id=self._conversation.conversation_id,
            agent=turn.record.agent,
            llm=turn.llm,
            manner=turn.manner,
            message=turn.record.message,
            person=turn.person,
            action=last.action,
            synthesis_hint=last.synthesis_hint,
            on_error=turn.on_error,
            ending="late" if self._run.is_late else None,
            submitted=turn.submitted_plan is not None,
            stood_in=self._stood_in,
            confidence=last.confidence,
            reply=None if last.steps else last.reply,
            slots=self._slots,
            memory=list(self._past.memory),
            history=list(self._past.history)[-HISTORY:],
            usage=records.usage_of(self._meter.calls),
            allowances=[],
            last_event=0,
            mode=turn.mode,
            revision=len(self._plans),
            spent_ms=elapsed_ms,
            left_ms=max(0, turn.deadline_ms - elapsed_ms),
            steps=self._results(),
        )

    def _results(self) -> list[StepResult]:
        return [step.result() for step in self._run.steps.values()]

    def _elapsed_ms(self) -> float:
        """Return the virtual time since the turn was begun: the run's, and that of the model's calls after it."""
        model_ms = records.model_ms((call.purpose for call in self._meter.calls), self._turn.llm_ms)
        return max(self._run.at_ms, model_ms + self._tools_ms())

    def _tools_ms(self) -> float:
        return records.latency_ms(0.0, self._run.records()) or 0.0

    def _record(self, status: str, error: dict[str, Any] | None = None, composed: Composed | None = None) -> TurnRecord:
        turn, reply = self._turn, composed.reply if composed else None
        steps = self._run.records()
        model_ms = records.model_ms((call.purpose for call in self._meter.calls), turn.llm_ms)
        return TurnRecord(
            message=turn.record.message,
            agent=turn.record.agent,
            at=turn.record.at,
            status=status,
            error=error,
            steps=steps,
            slots=self._slots,
            reply=reply.text if reply else None,
            artifacts=records.artifact_shapes(each.model_dump() for each in reply.artifacts) if reply else [],
            question=_question(reply) if reply else None,
            grounded=reply.grounded if reply else None,
            violations=records.violations(self._traces, composed.trace() if composed else {}),
            usage=records.usage_of(self._meter.calls),
            latency_ms=records.latency_ms(model_ms, steps),
        )


def _question(reply: Any) -> dict[str, Any] | None:
    return reply.question.model_dump(mode="json") if reply.question else None
