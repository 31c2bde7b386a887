"""Elements of the SVG: texts that cannot break out of it, and its colours, light and dark."""

from collections.abc import Mapping
from xml.sax.saxutils import escape

LETTER = 8.8
"""Width of a letter of a name, about, in pixels."""
LONGEST = 24
"""Letters of a name that are shown."""

_LIGHT = {"ink": "#1f2328", "soft": "#59636e", "line": "#8c959f", "page": "#ffffff", "box": "#f6f8fa"}
_DARK = {"ink": "#e6edf3", "soft": "#9198a1", "line": "#6e7681", "page": "#0d1117", "box": "#161b22"}
_GREEN, _BLUE, _AMBER, _RED = (
    ("#1a7f37", "#3fb950"),
    ("#0969da", "#4493f8"),
    ("#9a6700", "#d29922"),
    ("#cf222e", "#f85149"),
)
STATES = {
    "succeeded": _GREEN,
    "running": _BLUE,
    "waiting_approval": _AMBER,
    "needs_input": _AMBER,
    "failed": _RED,
    "unknown": _RED,
}
"""Colours of states, light and dark. Other states have that of lines."""
WORKERS = ("#2f81f7", "#d2822a", "#3fa565", "#a371f7")
"""Colours of workers, readable on both grounds."""

_UNFIT = dict.fromkeys(
    [*(code for code in range(32) if code not in (9, 10, 13)), *range(0xD800, 0xE000), 0xFFFE, 0xFFFF], "\ufffd"
)
"""Characters that XML cannot have."""


def text(x: float, y: float, said: str, kind: str) -> str:
    """Return a text of a class."""
    return f"<text class='{kind}' x='{x:.1f}' y='{y:.1f}'>{fit(said)}</text>"


def fit(said: str) -> str:
    """Return a text as XML can have it."""
    return escape(printable(said))


def printable(said: str) -> str:
    """Replace the characters that XML cannot have."""
    return said.translate(_UNFIT)


def shortened(name: str) -> str:
    """Return a name that fits its place."""
    return name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"


def state_of(status: str) -> str:
    """Return the class of a step's status."""
    return status if status in STATES else "idle"


def _rules(palette: Mapping[str, str], place: int) -> str:
    """Return the colours. All rules name the picture's class, because a page may hold it."""
    rules = {
        "text": f"fill:{palette['ink']}",
        ".soft,.plan .tool,.plan .at": f"fill:{palette['soft']}",
        ".page": f"fill:{palette['page']}",
        ".box": f"fill:{palette['box']};stroke:{palette['line']}",
        ".link,.plan .tick,.plan .wait": f"stroke:{palette['line']}",
        ".arrow,.plan .span": f"fill:{palette['line']}",
    }
    boxes = {f".{state} .box": f"stroke:{colours[place]}" for state, colours in STATES.items()}
    signs = {f".{state} .sign": f"fill:{colours[place]}" for state, colours in STATES.items()}
    hot = {".link.hot": f"stroke:{palette['ink']}"}
    return "".join(f".plan {where}{{{what}}}" for where, what in (rules | boxes | signs | hot).items())


_FORMS = """
.plan text{font:14px ui-sans-serif,system-ui,Helvetica,Arial,sans-serif}
.plan .head{font-weight:600;font-size:15px}.plan .soft,.plan .at{font-size:13px}.plan .tool{font-size:11px}
.plan .at{text-anchor:middle}.plan .label,.plan .sign{text-anchor:end}.plan .link{fill:none;stroke-width:1.3}
.plan .hot .box,.plan .link.hot{stroke-width:2.4}.plan .tick{stroke-opacity:.3}
.plan .wait{stroke-width:3;stroke-opacity:.6}.plan .open{opacity:.55}
"""
_OF_WORKERS = "".join(f".plan .w{number}{{fill:{colour}}}" for number, colour in enumerate(WORKERS))
STYLE = f"{_FORMS}{_OF_WORKERS}\n{_rules(_LIGHT, 0)}\n@media (prefers-color-scheme:dark){{{_rules(_DARK, 1)}}}\n"
"""The style sheet of a picture."""
