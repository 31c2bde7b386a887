"""The contract of the sim pack."""

from typing import get_args

from tests.tools.packs.contracts.cases import Contract, Fails, Valid
from turnloom.models.contracts.envelope import ErrorCode

SOON = {"time_s": 0.05}
WITHOUT_DATABASE = {"sim.wait", "sim.echo", "sim.burn", "sim.fail"}

CONTRACT: Contract = {
    "sim.wait": [
        Valid({"ms": 1}, gives={"ms": 1, "payload": None}),
        Valid({"ms": 0, "payload": [1, {"a": None}]}, gives={"payload": [1, {"a": None}]}),
        Fails({"ms": 60_000}, "TOOL_TIMEOUT", "60000 ms", context=SOON),
    ],
    "sim.echo": [Valid({"value": {"a": [1]}}, gives={"value": {"a": [1]}})],
    "sim.burn": [
        Valid({"ms": 1}, gives={"ms": 1}),
        Fails({"ms": 60_000}, "TOOL_TIMEOUT", context=SOON),
    ],
    "sim.flaky": [
        Valid({"fail_times": 1}, gives={"calls": 2}),
        Fails({"fail_times": 9}, "UPSTREAM_5XX", "call 3 of 9"),
    ],
    "sim.fail": [Fails({"code": code}, code, "as asked") for code in get_args(ErrorCode)],
    "sim.write": [
        Valid({"value": 7}, gives={"value": 7, "first": True}),
        Fails({"value": 7, "ms": 60_000}, "TOOL_TIMEOUT", context=SOON),
    ],
    "sim.approve": [Valid({"value": 7}, gives={"value": 7, "first": True})],
}
