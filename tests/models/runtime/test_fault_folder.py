"""The processes of a stack share its faults and their counts; no other process may have any."""

import subprocess
import sys
from pathlib import Path

import pytest

from turnloom.models.contracts.fault_file import FaultFile, ToolFault
from turnloom.models.errors import Misconfigured
from turnloom.models.runtime.fault_folder import FaultFolder, injected_faults, make_fault_folder, refuse_faults
from turnloom.models.runtime.settings import settings

ROOT = Path(__file__).resolve().parents[3]


def folder_with(path: Path, **fault: object) -> tuple[FaultFolder, ToolFault]:
    file = FaultFile.model_validate({"seed": 7, "faults": [{"tool": "*", "delay_ms": 1, **fault}]})
    make_fault_folder(path / "faults", file)
    return FaultFolder(path / "faults"), file.faults[0]


def test_the_same_ones_are_struck_in_each_stack(tmp_path: Path) -> None:
    """The seed decides by the number of a call, which each stack counts from one."""
    runs = []
    for _ in range(2):
        folder, fault = folder_with(tmp_path, chance=0.2)
        runs.append([folder.strikes(fault, "faults-0") for _ in range(300)])

    assert runs[0] == runs[1]
    assert 30 < sum(runs[0]) < 90


def test_the_nth_is_counted_in_its_scope(tmp_path: Path) -> None:
    """Each turn has its own second call."""
    folder, fault = folder_with(tmp_path, nth=2)

    assert [folder.strikes(fault, "faults-0", turn) for turn in "abba"] == [False, False, True, True]


def test_processes_count_together(tmp_path: Path) -> None:
    """No number is given twice, and none is left out."""
    folder_with(tmp_path, chance=1)
    script = (
        "import sys; from pathlib import Path; from turnloom.models.runtime.fault_folder import FaultFolder;"
        " folder = FaultFolder(Path(sys.argv[1])); print(*(folder._count('faults-0') for _ in range(500)))"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "faults")]

    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    numbers = [int(number) for each in running for number in each.communicate()[0].split()]

    assert sorted(numbers) == list(range(1, 1_501))


def test_without_the_setting_nothing_goes_wrong() -> None:
    """Other processes have no faults, and start."""
    refuse_faults()

    assert injected_faults() is None


def test_other_processes_refuse_the_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A production process does not start with it; the message says what to do."""
    monkeypatch.setenv("TURNLOOM_FAULTS", str(tmp_path))
    settings.cache_clear()

    with pytest.raises(Misconfigured, match="Unset it; only `turnloom up --faults FILE` sets it"):
        refuse_faults()

    settings.cache_clear()
