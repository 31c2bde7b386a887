"""Draw docs/pictures/turn.svg: the plan of a finished turn, and the time line of its steps.

In: docs/pictures/turn.json, the answer of `GET /v1/turns/{id}`.  Out: the picture, as `GET /v1/turns/{id}/graph.svg`
draws it; with `--check` exit code 1 if the picture is not that of this turn.
"""

import sys
from pathlib import Path

from turnloom.models.contracts.turn import TurnView
from turnloom.planner.picture.drawing import draw
from turnloom.workers.turns.turn_picture import turn_picture

PICTURES = Path(__file__).resolve().parent / "pictures"


def main() -> None:
    """Write the picture, or compare it."""
    picture = PICTURES / "turn.svg"
    turn = TurnView.model_validate_json((PICTURES / "turn.json").read_bytes())
    drawn = draw(turn_picture(turn, turn.created_at))
    if "--check" not in sys.argv:
        picture.write_text(drawn, "utf-8")
    elif not picture.exists() or picture.read_text("utf-8") != drawn:
        sys.exit(f"{picture.name} is out of date: run `make docs`")


if __name__ == "__main__":
    main()
