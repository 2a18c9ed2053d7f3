"""Is there anything to do? Compares a project with its lock by hashes alone, in a few milliseconds and without importing any tool."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import a2a_gen
from a2a_gen.output.lock import Lock, MadeBy, digest

TOOLS = ("datamodel-code-generator", "ruff")
SHAPING = ("agent", "emit", "ir", "lint", "output", "source", "support")


def is_fresh(lock: Lock, options: Mapping[str, str], root: Path, inputs: Iterable[Path]) -> bool:
    """Tell whether a build would write nothing: same generator, same options, same inputs, and the outputs as it left them."""
    return (
        lock.options == options
        and lock.generator == MadeBy(a2a_gen.__version__, sources_digest(), lock.generator.tools)
        and all(_is_installed(tool, lock.generator.tools.get(tool, "")) for tool in TOOLS)
        and lock.inputs == digests(root, inputs)
        and lock.outputs == digests(root, (root / path for path in lock.outputs))
    )


def digests(root: Path, files: Iterable[Path]) -> dict[str, str]:
    """Hash files by their path relative to a root, leaving out those that are not there."""
    found: dict[str, str] = {}
    for file in files:
        try:
            found[file.relative_to(root).as_posix()] = digest(file.read_bytes())
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            continue
    return found


def sources_digest() -> str:
    """Hash the generator's own modules and templates, so that a changed template is a reason to build again."""
    home = Path(a2a_gen.__file__).parent
    files = [home / "pipeline.py"]
    for folder in SHAPING:
        for parent, folders, names in os.walk(home / folder):
            # Caches of tools are no sources: ruff keeps one beside every configuration, and there is one among these files.
            folders[:] = [name for name in folders if name != "__pycache__" and not name.startswith(".")]
            files += [Path(parent, name) for name in names]
    return digest("".join(f"{path} {content}\n" for path, content in sorted(digests(home, files).items())).encode())


def _is_installed(tool: str, version: str) -> bool:
    """Look for the metadata folder of a distribution: asking importlib.metadata costs more than the whole rest."""
    folder = f"{tool.replace('-', '_')}-{version}.dist-info"
    return any(os.path.isdir(f"{entry}/{folder}") for entry in sys.path)  # noqa: PTH112 - hundreds of Path objects would cost a millisecond
