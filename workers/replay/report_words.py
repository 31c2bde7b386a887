"""Words of a report that its tables and its page share."""

from collections.abc import Mapping

from turnloom.models.contracts.replay import FigureName, ReplayReport

UNITS: Mapping[FigureName, tuple[str, str]] = {
    "latency_ms": ("predicted latency", "{:,.0f} ms"),
    "tokens": ("tokens", "{:,.0f}"),
    "llm_calls": ("calls of the language model", "{:,.2g}"),
    "cost": ("cost", "${:,.6f}"),
}
"""How to name a figure and to write its values."""


def verdict_text(report: ReplayReport) -> str:
    """Return the verdict, with the interval of the share and how much of it is figures only."""
    low, high = report.different.low, report.different.high
    sentences = [report.verdict]
    if report.turns:
        sentences.append(f"With 95 % confidence the share is between {low:.1%} and {high:.1%}")
    if report.only_figures:
        sentences.append(f"{report.only_figures:,} differ in usage or predicted latency only")
    return ". ".join(sentences) + "."


def change_text(before: float, after: float) -> str:
    """Return by how much a value has changed, such as `+12.5%`; empty if it was 0."""
    return f"{after / before - 1:+.1%}" if before else ""
