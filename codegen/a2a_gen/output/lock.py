"""``a2a-gen.lock``: inputs and outputs of the last build, committed beside the output.

It holds no time, no absolute path and nothing specific to a machine: equal contracts and generators
give equal locks. This module imports only the standard library, because a build with nothing to do
reads the lock and ends; the check takes a few milliseconds and compares hashes alone.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import a2a_gen
from a2a_gen.problems import ProjectError

LOCK_FILE = "a2a-gen.lock"


def hash_bytes(content: bytes) -> str:
    """Return the SHA-256 of some bytes."""
    return hashlib.sha256(content).hexdigest()


@dataclass(frozen=True, slots=True)
class GeneratorInfo:
    """The generator of an output: its version, a hash of the modules and templates that affect
    output, and tool versions.
    """

    version: str
    sources: str
    tools: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Lock:
    """One build: generator, options, and hashes of inputs and outputs by project-relative path."""

    generator: GeneratorInfo
    options: Mapping[str, str]
    inputs: Mapping[str, str]
    outputs: Mapping[str, str]

    def to_bytes(self) -> bytes:
        """Serialize the lock: sorted, one line per file, so merge conflicts stay small."""
        return (json.dumps(asdict(self), indent=2, sort_keys=True) + "\n").encode()


def read_lock(root: Path) -> Lock | None:
    """Read the lock of a project; ``None`` before the first build."""
    path = root / LOCK_FILE
    try:
        members = json.loads(path.read_bytes())
        return Lock(GeneratorInfo(**members.pop("generator")), **members)
    except FileNotFoundError:
        return None
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ProjectError(
            f"{LOCK_FILE}: cannot be read: {error}",
            "restore it from version control, or delete it and run a2a-gen build --force",
        ) from error


TOOLS = ("datamodel-code-generator", "ruff")
SHAPING_FOLDERS = (
    "agent",
    "contract",
    "emit",
    "ir",
    "lint",
    "output",
    "plain",
    "source",
    "support",
)


def is_up_to_date(
    lock: Lock, options: Mapping[str, str], root: Path, inputs: Iterable[Path]
) -> bool:
    """Return true if a build would write nothing: equal generator, options and inputs, and
    unchanged outputs.
    """
    return (
        lock.options == options
        and lock.generator
        == GeneratorInfo(a2a_gen.__version__, hash_sources(), lock.generator.tools)
        and all(_is_installed(tool, lock.generator.tools.get(tool, "")) for tool in TOOLS)
        and lock.inputs == hash_files(root, inputs)
        and lock.outputs == hash_files(root, (root / path for path in lock.outputs))
    )


def hash_files(root: Path, files: Iterable[Path]) -> dict[str, str]:
    """Hash files by their path relative to a root; missing files are skipped."""
    found: dict[str, str] = {}
    for file in files:
        try:
            found[file.relative_to(root).as_posix()] = hash_bytes(file.read_bytes())
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            continue
    return found


def hash_sources() -> str:
    """Hash the modules and templates of the generator, so a changed template causes a build."""
    home = Path(a2a_gen.__file__).parent
    files = [home / "pipeline.py"]
    for folder in SHAPING_FOLDERS:
        for parent, folders, names in os.walk(home / folder):
            # Skip caches of tools: ruff keeps one beside every configuration, and one of these
            # files is such a configuration.
            folders[:] = [
                name for name in folders if name != "__pycache__" and not name.startswith(".")
            ]
            files += [Path(parent, name) for name in names]
    return hash_bytes(
        "".join(
            f"{path} {content}\n" for path, content in sorted(hash_files(home, files).items())
        ).encode()
    )


def _is_installed(tool: str, version: str) -> bool:
    """Look for the metadata folder of a distribution; importlib.metadata costs more than the rest
    of the check.
    """
    folder = f"{tool.replace('-', '_')}-{version}.dist-info"
    # Hundreds of Path objects would cost a millisecond.
    return any(os.path.isdir(f"{entry}/{folder}") for entry in sys.path)  # noqa: PTH112
