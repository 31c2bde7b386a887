"""The option `--faults FILE`, which several commands have."""

from typing import Any

import click

from turnloom.models.contracts.fault_file import FaultFile, read_fault_file
from turnloom.models.errors import Invalid


class FaultFileType(click.ParamType[FaultFile]):
    """A fault file that can be read."""

    name = "file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> FaultFile:
        try:
            with click.File(encoding="utf-8").convert(value, param, ctx) as file:
                return read_fault_file(file.read())
        except UnicodeDecodeError as error:
            self.fail(f"{value} is not UTF-8: {error}", param, ctx)
        except Invalid as error:
            self.fail(str(error), param, ctx)
