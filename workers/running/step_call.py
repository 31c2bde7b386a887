"""A step's call is made here, then its fallbacks'; each passes access, approval, memory and the other guards.

If an earlier call with an effect was lost, its backend is asked for the outcome first. No rate limit counts for that.
If it may not be asked, because the user has taken access back or the service's circuit is open, the outcome stays
unknown.
"""

import time
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import UUID

from turnloom.models.connections.database import transaction
from turnloom.models.errors import NotFound, ToolFailed, Unavailable
from turnloom.models.ledger import integrations
from turnloom.models.ledger.access_cache import recent_access_of
from turnloom.models.ledger.integrations import UserAccess
from turnloom.models.ledger.steps import ClaimedStep, FinishedStep, TurnFacts
from turnloom.models.runtime.logging import log
from turnloom.planner.plan.references import holds, resolve_args
from turnloom.tools import runner
from turnloom.tools.call_identity import call_hash, idempotency_key
from turnloom.tools.context import ToolContext
from turnloom.tools.guards import Guards
from turnloom.tools.guards.access import account_of
from turnloom.tools.registry import Tool
from turnloom.workers.running import parking
from turnloom.workers.running.effect_dedup import begin
from turnloom.workers.running.outcomes import GRACE_S, Outcome, Parked, ended, failed, unknown
from turnloom.workers.running.result_memo import memoised, through_memory
from turnloom.workers.running.tool_metrics import count_call, count_retry
from turnloom.workers.turns.hook_events import hook_recorder
from turnloom.workers.turns.process_parts import registry
from turnloom.workers.turns.turn_events import note


class StepCalls:
    """The calls of one turn's steps, several at the same time."""

    def __init__(self, turn_id: UUID, turn: TurnFacts) -> None:
        self._turn_id = turn_id
        self._turn = turn

    def outcome(self, step: ClaimedStep, end: float) -> Outcome:
        """Run a claimed step until it ends, or must wait. `end`: the end of its time, on the monotonic clock."""
        if step.copy_of is not None:
            return FinishedStep(step.id, step.attempt, "succeeded", result=step.inputs[step.copy_of])
        if step.left_ms == 0 and not step.unsure:
            return failed(step, "CANCELLED", "the turn's deadline had passed before this step could start")
        if step.run_if is not None and not holds(step.run_if, step.inputs):
            return FinishedStep(step.id, step.attempt, "skipped")
        outcome = self._try(step, step.tool, step.args, end)
        for fallback in step.fallbacks:
            if not (isinstance(outcome, FinishedStep) and outcome.status == "failed"):
                break
            self._note_retry(step, 1, str((outcome.error or {}).get("code")), 0.0, fallback["tool"])
            outcome = self._try(step, fallback["tool"], fallback["args"], end)
        return outcome

    def _try(self, step: ClaimedStep, name: str, raw_args: dict[str, Any], end: float) -> Outcome:
        """Call the step's tool, or one of its fallbacks."""
        try:
            args = resolve_args(raw_args, step.inputs)
            tool = registry().get(name)
            context = self._context(step, tool, args, min(end, time.monotonic() + step.timeout_ms / 1000))
        except LookupError as error:
            return failed(step, "DEPENDENCY_FAILED", str(error))
        except ToolFailed as error:
            return failed(step, "BAD_ARGS", f"step {step.id!r}: {error}")
        except NotFound as error:
            return failed(step, "NOT_FOUND", str(error))
        except Unavailable as error:
            # The step is released without an outcome: its lease expires, and its next holder asks again.
            log.warning("access.unread", turn_id=str(self._turn_id), step_id=step.id, error=error.code)
            return Parked(step.id, step.attempt)
        began = time.monotonic()
        outcome = self._ended(step, tool, args, context)
        if (now := time.monotonic()) < end + GRACE_S:  # later, it has been given up and counted as such
            count_call(tool, outcome, now - began)
        return self._told(outcome, tool, args, context)

    def _ended(self, step: ClaimedStep, tool: Tool, args: dict[str, Any], context: ToolContext) -> Outcome:
        """Return the step's outcome, final or parked."""
        if tool.effect == "read":
            return self._held(step, tool, args, context) or self._made(step, tool, args, context)
        outcome = None if _is_lost(step, tool) else begin(self._turn_id, step, tool, args)
        outcome = outcome or self._held(step, tool, args, context) or self._made(step, tool, args, context)
        return replace(outcome, input_hash=call_hash(tool, args)) if isinstance(outcome, FinishedStep) else outcome

    def _held(self, step: ClaimedStep, tool: Tool, args: dict[str, Any], context: ToolContext) -> Outcome | None:
        """Return the outcome of a step whose call may not be made.

        Nobody is asked to approve arguments that the tool refuses.
        """
        if not (tool.scopes or tool.requires_approval):
            return None
        if (refused := runner.refusal(tool, args, context)) is not None:
            return unknown(step, refused) if _is_lost(step, tool) else ended(step, refused)
        return parking.ask(self._turn_id, step, tool, args) if tool.requires_approval else None

    def _made(self, step: ClaimedStep, tool: Tool, args: dict[str, Any], context: ToolContext) -> Outcome:
        on_note = hook_recorder(self._turn_id, step.id)
        # A step that has a fallback does not wait under a rate limit.
        guards = Guards(longest_wait_s=0 if step.fallbacks else step.left_ms / 1000)
        if _is_lost(step, tool):
            earlier = runner.reconcile(tool, args, context, on_note, guards)
            if earlier is not None:
                return memoised(ended(step, earlier), tool, args, context)
            if (repeated := begin(self._turn_id, replace(step, unsure=False), tool, args)) is not None:
                return repeated
        on_retry = partial(self._note_retry, step)
        call = partial(runner.run, tool, args, context, on_retry, on_note, guards)
        return through_memory(step, tool, args, context, call)

    def _context(self, step: ClaimedStep, tool: Tool, args: dict[str, Any], deadline: float) -> ToolContext:
        """Return the tool's context.

        Raises:
            Unavailable: Postgres does not answer.
        """
        context = ToolContext(
            tenant_id=self._turn.tenant_id,
            conversation_id=self._turn.conversation_id,
            turn_id=self._turn_id,
            step_id=step.id,
            attempt=step.attempt,
            idempotency_key=idempotency_key(self._turn_id, step.id, args),
            deadline=deadline,
            user=self._turn.person,
            agent=self._turn.agent,
        )
        user_id = self._turn.person.get("id")
        if not (tool.scopes and user_id):
            return context
        access = _access_of(tool, self._turn.tenant_id, user_id)
        return replace(context, scopes=access.scopes, accounts=access.accounts)

    def _told(self, outcome: Outcome, tool: Tool, args: dict[str, Any], context: ToolContext) -> Outcome:
        """Record that the user must connect an account again, if the service says so."""
        if not (isinstance(outcome, FinishedStep) and (outcome.error or {}).get("code") == "REAUTH_REQUIRED"):
            return outcome
        account = account_of(tool, tool.input.model_validate(args), context)
        if account is not None and account.status == "active":
            try:
                with transaction() as db:
                    integrations.needs_reauth(db, context.tenant_id, account.id, account.updated_at)
            except Unavailable as error:
                log.warning("account.unmarked", account_id=str(account.id), error=error.code)
        return outcome

    def _note_retry(
        self, step: ClaimedStep, tries: int, code: str, pause_s: float, fallback: str | None = None
    ) -> None:
        if fallback is None:
            count_retry(step.tool, code)
        call = {"step": step.id, "tool": fallback or step.tool, "attempt": max(1, step.attempt)}
        note(self._turn_id, "step.retry", {**call, "try": tries, "code": code, "pause_ms": round(pause_s * 1000)})


def _access_of(tool: Tool, tenant_id: UUID, user_id: str) -> UserAccess:
    """Return what a user allows: as it is now, unless the call only reads and nobody approves it."""
    if tool.effect == "read" and not tool.requires_approval:
        return recent_access_of(tenant_id, user_id, tool.scopes)
    with transaction() as db:
        return integrations.access_of(db, tenant_id, user_id)


def only_reads(step: ClaimedStep) -> bool:
    """Return whether every call that a step may make only reads and needs no approval."""
    names = {step.tool, *(fallback["tool"] for fallback in step.fallbacks)}
    tools = [tool for name, tool in registry().tools.items() if name in names]
    return len(tools) == len(names) and all(tool.effect == "read" and not tool.requires_approval for tool in tools)


def _is_lost(step: ClaimedStep, tool: Tool) -> bool:
    return step.unsure and tool.effect != "read"
