import json
import re
from typing import get_args

import httpx2
import pytest

from tests.docs.pages import ROOT, prose
from turnloom.models.contracts.envelope import ERROR_CODES, ErrorCode
from turnloom.models.contracts.event import EVENTS
from turnloom.models.contracts.plan import PLAN_FAULTS, FaultCode
from turnloom.models.errors import NeedsInput, TurnloomError
from turnloom.models.runtime.metrics import COUNTED, OBSERVED
from turnloom.models.runtime.settings import Settings
from turnloom.tools.pack_index import shipped_packs
from turnloom.tools.pack_settings import settings_classes
from turnloom.tools.registry import load_registry
from turnloom.workers.cli import COMMANDS

REFERENCE = ROOT / "docs" / "reference"
PACK_SETTINGS = settings_classes(shipped_packs()).values()

MESSAGES = [
    {"agent": "travel", "message": "Plan a 2-day Kyoto trip"},
    {"message": "hello"},
    {
        "message": "fail",
        "plan": {
            "steps": [
                {"id": "again", "tool": "sim.flaky", "args": {"fail_times": 1}},
                {"id": "never", "tool": "sim.fail", "args": {"code": "CONFLICT"}},
                {"id": "after", "tool": "sim.echo", "args": {"value": {"$from": "never"}}},
            ]
        },
    },
    {"message": "fail", "plan": {"steps": [{"id": "never", "tool": "sim.fail", "args": {"code": "CONFLICT"}}]}},
]


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("settings.md", ["DATABASE_URL", "REDIS_URL", "TURNLOOM_PACKS"]),
        ("settings.md", [name.upper() for kind in (Settings, *PACK_SETTINGS) for name in kind.model_fields]),
        ("tools.md", list(load_registry(pack.name for pack in shipped_packs()).tools)),
        ("errors.md", [*get_args(ErrorCode), *get_args(FaultCode)]),
        ("errors.md", [kind.code for kind in TurnloomError.__subclasses__() if kind is not NeedsInput]),
        ("events.md", list(EVENTS)),
        ("commands.md", [f"turnloom {name}" for name in (*COMMANDS, "hotel load", "documents list")]),
        ("metrics.md", list(COUNTED | OBSERVED)),
        ("agents.md", [path.stem for path in (ROOT / "prompts" / "agents").glob("*.yaml")]),
    ],
)
def test_the_reference_names_everything(page, names):
    """Every setting, tool, error code, event, command, metric and agent is in the reference."""
    words = set(re.findall(r"`(?:TURNLOOM_)?([^`]+)`", prose(REFERENCE / page)))

    assert {name.removeprefix("TURNLOOM_") for name in names} - words == set()


def test_each_code_has_a_meaning():
    """The lists of codes are closed, and each code is explained in its list."""
    assert set(ERROR_CODES) == set(get_args(ErrorCode))
    assert set(PLAN_FAULTS) == set(get_args(FaultCode))


@pytest.mark.parametrize("message", MESSAGES, ids=["trip", "talk", "some fail", "all fail"])
def test_events_are_as_the_reference_says(message, api: httpx2.Client):
    """An event's type and each field of its data are documented."""
    turn_id = api.post("/v1/turns?wait=20", json=message).json()["turn_id"]

    text = api.get(f"/v1/turns/{turn_id}/events").text

    told = re.findall(r"^event: (.+)\ndata: (.+)$", text, re.MULTILINE)
    fields = {(kind, field) for kind, data in told for field in json.loads(data) if field not in ("turn_id", "at")}
    assert fields
    assert {(kind, field) for kind, field in fields if f"`{field}`" not in EVENTS.get(kind, "")} == set()
