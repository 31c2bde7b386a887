"""Install a project as pip does, but without a build, which would fetch its tools from a package index.

`python -m tests.installing PROJECT TARGET` copies the project's packages, and writes pip's metadata.
"""

import shutil
import sys
import tomllib
from pathlib import Path


def install(project: Path, target: Path) -> None:
    """Put a project's packages and entry points where Python finds them if `target` is on its path."""
    about = tomllib.loads((project / "pyproject.toml").read_text("utf-8"))
    for package in about["tool"]["setuptools"]["packages"]:
        shutil.copytree(project / package, target / package, dirs_exist_ok=True)
    declare(target, about["project"]["name"], about["project"]["entry-points"])


def declare(target: Path, name: str, entry_points: dict[str, dict[str, str]]) -> None:
    """Write the metadata of an installed distribution."""
    folder = target / f"{name.replace('-', '_')}-0.1.0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1.0\n", "utf-8")
    groups = [
        f"[{group}]\n" + "".join(f"{entry} = {module}\n" for entry, module in entries.items())
        for group, entries in entry_points.items()
    ]
    (folder / "entry_points.txt").write_text("\n".join(groups), "utf-8")


def ship_packs(site: Path, packs: Path) -> None:
    """Let processes with `site` on their path find the packs of a folder among the shipped ones."""
    extend = f"packs.__path__.append({str(packs)!r})"
    (site / "sitecustomize.py").write_text(f"from turnloom.tools import packs\n{extend}\n", "utf-8")


if __name__ == "__main__":
    install(Path(sys.argv[1].partition("[")[0]), Path(sys.argv[2]))
