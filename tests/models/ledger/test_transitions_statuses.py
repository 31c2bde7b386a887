"""SQL and Python know the same statuses."""

from typing import get_args

from turnloom.models.connections.database import statement
from turnloom.models.contracts.plan import FINAL_STEP_STATUSES, StepStatus


def test_sql_and_python_agree_on_which_steps_are_final(database: str) -> None:
    """A status that is final in only one of them would end a turn too early, or never."""
    with statement() as db:
        rows = db.execute(
            "SELECT status FROM unnest(%s::text[]) status WHERE hot.is_final(status)", (list(get_args(StepStatus)),)
        )
        final = {status for (status,) in rows}

    assert final == FINAL_STEP_STATUSES
