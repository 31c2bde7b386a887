"""Read files of agents and playbooks. A bad file is refused in one sentence that names the file and the line."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import yaml
from pydantic import ValidationError

from turnloom.models.errors import Misconfigured
from turnloom.models.runtime.settings import settings
from turnloom.tools.pack_index import prompt_folders

Read = TypeVar("Read")


def profile_files(folder: Path) -> dict[str, Path]:
    """Return the YAML files of a folder such as prompts/agents by name, and those of the enabled packs.

    A pack's file counts only if the folder has none of its name.
    """
    of_packs = (prompts / folder.name for prompts in prompt_folders(settings().packs))
    return dict(sorted({path.stem: path for each in (*of_packs, folder) for path in each.glob("*.yaml")}.items()))


def read_file(path: Path, read: Callable[[str], Read]) -> Read:
    """Return the value that `read` makes from the text of a file.

    Raises:
        Misconfigured: the file cannot be read, or `read` raised a ValueError or a YAML error.
    """
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Misconfigured(f"{path} cannot be read: {error}") from error
    try:
        return read(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f", line {mark.line + 1}" if mark else ""
        raise Misconfigured(f"{path}{line}: this is not YAML: {error.problem or error.context}") from error
    except ValidationError as error:
        faults = error.errors(include_url=False, include_input=False, include_context=False)
        said = "; ".join(f"{_place(text, fault['loc'])}{_plain(fault['msg'])}" for fault in faults)
        raise Misconfigured(f"{path}, {said}" if said.startswith("line") else f"{path}: {said}") from error
    except (ValueError, yaml.YAMLError) as error:
        raise Misconfigured(f"{path}: {error}") from error


def _place(text: str, location: tuple[int | str, ...]) -> str:
    """Return the line and the dotted name of a field as the prefix of a message."""
    node = yaml.compose(text, Loader=yaml.SafeLoader)
    line = None
    for part in location:
        if isinstance(node, yaml.MappingNode):
            found = next(((key, value) for key, value in node.value if key.value == part), None)
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            found = (node.value[part], node.value[part])
        else:
            found = None
        if found is None:
            break
        line, node = found[0].start_mark.line + 1, found[1]
    return f"{f'line {line}: ' if line else ''}{'.'.join(map(str, location))}{': ' if location else ''}"


def _plain(message: str) -> str:
    return message.removeprefix("Value error, ")
