"""A planner that runs reads while its language model writes what a test says."""

import threading
from contextlib import suppress
from dataclasses import replace
from typing import Any, Self

from celery.exceptions import Ignore

from tests.factories import step
from tests.models.ledger.early import planning_turn, told
from turnloom.models.connections.database import statement
from turnloom.models.contracts.plan import Plan, Step
from turnloom.models.contracts.step_result import StepResult
from turnloom.models.ledger import plans
from turnloom.models.ledger.plans import NewPlan, RecordedPlan
from turnloom.models.ledger.steps import Capacity, Holder, TurnFacts
from turnloom.models.ledger.turns import ClaimedTurn
from turnloom.planner.draft.streamed_plan import WrittenStep
from turnloom.tools.packs.sim.load import Wait, Waited
from turnloom.tools.registry import Registry, Tool
from turnloom.workers.compiling import compile_plan, fragment_rows
from turnloom.workers.execution import Executor
from turnloom.workers.turns.early_reads import EarlyReads

HOLDER = Holder("planner/1", 6_000)
SLOW = {"tool": "sim.gated"}


class Planner:
    """A planner whose language model writes what a test says. The tool `sim.gated` ends when the gate is open."""

    def __init__(self, tools: dict[str, Tool]) -> None:
        self.gate = threading.Event()
        self.tools = tools
        wait = tools["sim.wait"]
        tools["sim.gated"] = replace(wait, name="sim.gated", call=self._pass)
        tools["sim.kept"] = replace(wait, name="sim.kept", remember_s=600.0)
        self.turn, self.reads = self.plans_next(planning_turn())
        self.executor: Executor | None = None

    def plans_next(
        self, turn: ClaimedTurn, cap: int | None = None, *done: StepResult
    ) -> tuple[ClaimedTurn, EarlyReads]:
        self.turn, self.reads = turn, EarlyReads(turn, Registry(self.tools), HOLDER, cap, done)
        return turn, self.reads

    def write(self, *steps: dict[str, Any], early: bool = True, first: int = 0) -> Self:
        for position, raw in enumerate(steps, first):
            self.reads.take(WrittenStep(raw, position, Step.model_validate(raw) if early else None))
        return self

    def record(self, *steps: dict[str, Any], cap: int | None = None) -> RecordedPlan | None:
        """Record a plan together with the reads that have begun, and hand the rest to an executor."""
        plan = Plan.model_validate({"steps": list(steps)})
        held = self.reads.held_by(plan)
        compiled = compile_plan(plan, Registry(self.tools), "dense", cap, held.started)
        rows = fragment_rows(compiled.fragments)
        most = compiled.max_parallel
        new = NewPlan(plan, "llm", {}, compiled.steps, rows, "dense", most, begun=held.begun)
        capacity = Capacity("tools.io", 4)
        with statement() as db:
            recorded = plans.record(db, self.turn.id, self.turn.attempt, new, capacity, HOLDER)
        if recorded is not None:
            facts = TurnFacts(
                self.turn.tenant_id, self.turn.conversation_id, self.turn.person, cap is not None, self.turn.agent
            )
            self.executor = Executor(self.turn.id, facts, recorded.generation, "tools.io", HOLDER)
            self.reads.hand_over(self.executor)
        return recorded

    def go_on(self, recorded: RecordedPlan | None) -> None:
        assert recorded is not None
        assert self.executor is not None
        with suppress(Ignore):
            self.executor.run(recorded.claimed, 4, recorded.at)

    def ended(self, *names: str) -> bool:
        return set(names) <= self.reads._ended.keys()

    def _pass(self, query: Wait, _: object) -> Waited:
        self.gate.wait(10)
        return Waited(ms=query.ms, payload=query.payload)


def slow(name: str, *needs: str) -> dict[str, Any]:
    return step(name, *needs, args={"ms": 0}, **SLOW)


def kinds(planner: Planner) -> list[str]:
    """Return the events of the planner's turn after its claim."""
    return told(planner.turn.id)[2:]
