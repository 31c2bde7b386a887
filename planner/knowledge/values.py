"""Values of facts are compared by what they mean: "4.2 million euros" is "€4.2m", "3 March 1932" is 1932-03-03."""

from functools import lru_cache

from turnloom.models.contracts.belief import comparable
from turnloom.models.contracts.knowledge import Value
from turnloom.planner.reply.grounding.figures import Figure
from turnloom.planner.reply.grounding.scan import figures

_DOLLAR = "USD"


@lru_cache(maxsize=4096, typed=True)
def meaning(value: Value) -> str:
    """Return a text that is equal for values that mean the same. Figures are read as those of replies are."""
    plain = comparable(value)
    if not isinstance(value, str):
        return plain
    pieces, end = [], 0
    for figure in figures(value):
        if figure.keys:
            pieces += [value[end : figure.start], _key(figure)]
            end = figure.end
    return comparable("".join([*pieces, value[end:]])) if pieces else plain


def _key(figure: Figure) -> str:
    """Write a figure's likeliest value. A sign that stands for several dollars means the American one."""
    key = next((key for key in figure.keys if key[-1] == _DOLLAR), figure.keys[0])
    form, *parts = key
    written = " ".join(comparable(str(part)) for part in parts if part is not None)
    return written if form == "number" else f"{form} {written}"
