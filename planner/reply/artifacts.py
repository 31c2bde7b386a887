"""Make the artifacts of a reply from the results of steps, each as its tool declares."""

from turnloom.models.contracts.artifact import Artifact
from turnloom.models.contracts.step_result import StepResult
from turnloom.models.runtime.logging import log
from turnloom.planner.reply.reply_input import ReplyInput
from turnloom.tools.registry import Tool


def artifacts_of(given: ReplyInput) -> list[Artifact]:
    """Return the artifacts of a reply, the formatter's first. Each names the steps that it was made from."""
    formatted = given.formatted()
    steps = [*([formatted] if formatted else []), *given.succeeded(), *given.recounted()]
    made = (_artifact(step, given.tools.tools[step.tool]) for step in steps if step.tool in given.tools.tools)
    return [artifact for artifact in made if artifact is not None]


def _artifact(step: StepResult, tool: Tool) -> Artifact | None:
    if tool.artifact is None:
        return None
    try:
        artifact = tool.artifact(tool.output.model_validate(step.result))
    except Exception:  # noqa: BLE001 - a pack's own code may fail; a reply without an artifact is better than none
        log.warning("artifact.failed", tool=tool.name, step_id=step.id, exc_info=True)
        return None
    return artifact and artifact.model_copy(update={"sources": [step.id, *step.refers_to]})
