"""Measure grounding on `scenes/`: of the right replies, how many are refused; of the altered ones, how many are caught.

    python -m tests.planner.reply.grounding.rates [-v]   # -v: also each reply that is judged wrongly

A line of a scene is one right reply. `{right|kind:other|kind:other}` stands for its first part. Each of the others
makes an altered reply, in which this part alone is different. `⏎` stands for the end of a line within a reply.

A reply that passes, but names what the results and the user do not, is for the critic, and is counted apart.
"""

import re
import sys
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import orjson
from babel import Locale

from turnloom.models.contracts.step_result import StepResult
from turnloom.models.runtime.settings import settings
from turnloom.models.runtime.yaml_text import read_yaml
from turnloom.planner.agents import load_agents
from turnloom.planner.languages.catalogues import Languages, load_languages
from turnloom.planner.reply.grounding import Evidence, UserWords, check, gather
from turnloom.planner.reply.grounding.element_names import strings
from turnloom.planner.reply.unknown_names import names_beyond
from turnloom.tools.registry import Registry, load_registry

SCENES = Path(__file__).parent / "scenes"
FRESH = SCENES / "fresh"
"""Scenes that were written to estimate how the rules do on replies that they were not made for."""
OTHERS = SCENES / "others"
"""Scenes that several writers made who knew nothing of the rules, mostly over tools that declare nothing."""
SHIPPED = SCENES / "shipped"
"""Scenes of other writers over results of the shipped assistants, in the kinds and numbers of a review's set."""
NOW = datetime(2026, 11, 20, 10, 30, tzinfo=UTC)
_CHOICE = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True)
class Case:
    """A reply, what it may say, and whether it is right."""

    scene: str
    kind: str
    text: str
    is_right: bool
    evidence: Evidence
    known: tuple[str, ...]
    """The texts of the results, and of the user."""


def cases(folder: Path = SCENES, *, every: int = 1) -> Iterator[Case]:
    """Yield every right reply of a folder and every altered one, those of every scene or of each second, third …"""
    scenes = (scene for file in sorted(folder.glob("*.yaml")) for scene in read_yaml(file.read_text("utf-8")))
    for scene in islice(scenes, 0, None, every):
        evidence, known = _evidence(scene), (*strings(scene["results"]), scene["said"])
        for kind, lines in scene["replies"].items():
            for line in (written.replace("⏎", "\n") for written in lines.strip().splitlines()):
                yield Case(scene["scene"], kind, _CHOICE.sub(_first, line), True, evidence, known)
                for altered, text in _altered(line):
                    yield Case(scene["scene"], altered, text, False, evidence, known)


def judge(case: Case) -> bool:
    """Return whether grounding lets a right reply pass, or refuses an altered one."""
    return case.is_right != bool(check(case.text, case.evidence).violations)


def is_for_critic(case: Case) -> bool:
    """Return whether a reply has a name that neither the results nor the user have."""
    tag = _languages().language_of(case.text) or "en"
    return bool(names_beyond(case.known, case.text, Locale.parse(tag)))


def table(folder: Path = SCENES) -> str:
    """Return the rates of a folder by kind, and the processor time of a check."""
    judged: dict[bool, dict[str, Counter[bool]]] = {True: {}, False: {}}
    began = time.process_time()
    found = [(case, judge(case)) for case in cases(folder)]
    took_ms = (time.process_time() - began) * 1000
    for case, good in found:
        judged[case.is_right].setdefault(case.kind, Counter())[good] += 1
    lines = [*_rows("refused", judged[True], False), "", *_rows("caught", judged[False], True)]
    passed = [case for case, good in found if case.is_right == good]
    doubtful = Counter(case.is_right for case in passed if is_for_critic(case))
    lines.append(f"{'':12} passed with an unknown name: {doubtful[True]} right, {doubtful[False]} altered")
    return "\n".join([*lines, "", f"{took_ms / len(found):.2f} ms of processor time per reply, its evidence included"])


def wrong(folder: Path = SCENES) -> Iterator[str]:
    """Yield a line for each reply of a folder that is judged wrongly."""
    for case in cases(folder):
        if not judge(case):
            found = [violation.text for violation in check(case.text, case.evidence).violations]
            yield " | ".join(["refused" if case.is_right else "missed", case.kind, case.text, *found])


def _rows(word: str, kinds: dict[str, Counter[bool]], counted: bool) -> Iterator[str]:
    for kind, count in sorted(kinds.items()):
        yield f"{kind:12} {word} {count[counted]:4} of {count.total():4}"
    total = sum(kinds.values(), Counter())
    yield f"{'all':12} {word} {total[counted]:4} of {total.total():4} = {total[counted] / total.total():.1%}"


def _first(choice: re.Match[str]) -> str:
    return choice[1].split("|")[0]


def _altered(line: str) -> Iterator[tuple[str, str]]:
    for choice in _CHOICE.finditer(line):
        for other in choice[1].split("|")[1:]:
            kind, _, words = other.partition(":")
            yield kind, _CHOICE.sub(_first, line[: choice.start()]) + words + _CHOICE.sub(_first, line[choice.end() :])


@lru_cache
def _languages() -> Languages:
    return load_languages(settings().prompts_dir / "languages")


@lru_cache
def _tools() -> Registry:
    return load_registry(["dates", "hotel", "meetings", "notifications", "research", "sim", "travel"])


def _evidence(scene: dict[str, Any]) -> Evidence:
    """Gather the evidence of a scene as a turn does."""
    results = orjson.loads(orjson.dumps(scene["results"], default=_plain))
    steps = [
        StepResult(id=name.rpartition(".")[2], tool=name, args={}, status="succeeded", result=result)
        for name, result in results.items()
    ]
    tools = _with_reads(results, scene.get("writes", ()))
    agent = load_agents(settings().prompts_dir / "agents").get(scene["agent"])
    now = NOW.astimezone(ZoneInfo(scene.get("zone", "UTC")))
    return gather(agent, tools, now, steps=steps, memory=[], said=UserWords(scene["said"], {}, {}, []))


def _with_reads(names: Iterable[str], writes: Collection[str]) -> Registry:
    """Return the tools, and foreign ones of these names, which only read unless the scene says otherwise."""
    known = _tools()
    read = next(tool for tool in known.tools.values() if tool.effect == "read" and not tool.public)
    foreign = {
        name: replace(read, name=name, outside=frozenset(), says={}, redact=frozenset(), deeds=None, is_evidence=True)
        for name in names
        if name not in known.tools and name not in writes
    }
    return replace(known, tools={**known.tools, **foreign})


def _plain(value: Any) -> str:
    assert isinstance(value, date)
    return value.isoformat()


if __name__ == "__main__":
    for scenes in (SCENES, FRESH, SHIPPED, OTHERS):
        found = wrong(scenes) if "-v" in sys.argv else []
        sys.stdout.write("\n".join([f"{scenes.name}:", table(scenes), *found, "\n"]))
