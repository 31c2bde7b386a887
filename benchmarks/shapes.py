"""Plans to measure: the needs of each step, and how long it takes."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.waves import waves
from turnloom.planner.plan.graph import critical_path


@dataclass(frozen=True)
class Shape:
    """A DAG with durations."""

    needs: Mapping[str, Sequence[str]]
    ms: Mapping[str, float]

    @property
    def critical_path_ms(self) -> float:
        """The shortest time in which the plan can be done."""
        return critical_path(self.needs, self.ms)

    @property
    def waves_ms(self) -> float:
        """The time when run level by level: each level takes as long as its slowest step."""
        return float(sum(max(self.ms[step] for step in level) for level in waves(self.needs)))

    @property
    def plan(self) -> dict[str, Any]:
        """The plan as a caller posts it."""
        return {
            "steps": [
                {"id": step, "tool": "sim.wait", "args": {"ms": self.ms[step]}, "needs": list(needs)}
                for step, needs in self.needs.items()
            ]
        }


def fan_out(width: int, ms: Sequence[int]) -> Shape:
    """Return `width` steps side by side and one step that needs them all. The durations repeat."""
    names = [f"s{number}" for number in range(width)]
    needs: dict[str, list[str]] = {**{name: [] for name in names}, "join": names}
    return Shape(needs, {name: ms[number % len(ms)] for number, name in enumerate(needs)})


def chain(length: int, ms: int) -> Shape:
    """Return steps that each need the previous one."""
    needs = {f"s{number}": [f"s{number - 1}"] if number else [] for number in range(length)}
    return Shape(needs, dict.fromkeys(needs, ms))


def n_shape(scale: float = 1) -> Shape:
    """Return the smallest plan that no chord can express: a long step beside a short one that a long one needs."""
    needs = {"a": [], "b": [], "c": ["a"], "d": ["a", "b"]}
    return scaled(Shape(needs, {"a": 200, "b": 600, "c": 600, "d": 200}), scale)


def trip(scale: float = 1) -> Shape:
    """Return a trip of ten steps: look things up side by side, choose, lay out days, add up, answer."""
    needs = {
        "ask": [],
        "flights": ["ask"],
        "hotels": ["ask"],
        "weather": ["ask"],
        "events": ["ask"],
        "flight": ["flights"],
        "hotel": ["hotels", "flight"],
        "days": ["weather", "events", "hotel"],
        "budget": ["flight", "hotel"],
        "answer": ["days", "budget"],
    }
    durations = (100, 500, 300, 100, 600, 100, 200, 300, 100, 200)
    return scaled(Shape(needs, dict(zip(needs, durations, strict=True))), scale)


def mixed() -> Shape:
    """Return twelve steps without duration: a root, branches of different depth, steps for two joins, an answer."""
    needs = {
        "root": [],
        "a1": ["root"],
        "b1": ["root"],
        "c1": ["root"],
        "d1": ["root"],
        "a2": ["a1"],
        "a3": ["a2"],
        "b2": ["b1", "c1"],
        "c2": ["c1"],
        "left": ["a3", "b2"],
        "right": ["b2", "c2", "d1"],
        "answer": ["left", "right"],
    }
    return Shape(needs, dict.fromkeys(needs, 0))


def random_plan(seed: int, steps: int, slowest_ms: int) -> Shape:
    """Return a plan as language models write it: most steps need a recent one, and the answer needs all open ends."""
    rng = random.Random(seed)
    roots = rng.choice([1, 2, 3, 4])
    needs: dict[str, list[str]] = {}
    for number in range(steps - 1):
        recent = list(needs)[-5:]
        wanted = rng.choices([1, 2, 3], [0.7, 0.22, 0.08])[0] if number >= roots else 0
        needs[f"s{number}"] = sorted(rng.sample(recent, min(wanted, len(recent))))
    used = {need for direct in needs.values() for need in direct}
    needs["answer"] = [step for step in needs if step not in used]
    return Shape(needs, {step: rng.randint(slowest_ms // 10, slowest_ms) for step in needs})


def scaled(shape: Shape, scale: float) -> Shape:
    """Return the plan with its durations multiplied by `scale`."""
    return Shape(shape.needs, {step: round(duration * scale) for step, duration in shape.ms.items()})
