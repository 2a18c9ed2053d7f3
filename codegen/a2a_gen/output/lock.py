"""``a2a-gen.lock``: what went into the last build and what came out, committed beside it.

It holds no time, no absolute path and nothing of the machine: the same contract and the same generator give the same lock. Only standard library is
imported here, because a build that has nothing to do reads the lock and ends.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from a2a_gen.problems import ProjectError

NAME = "a2a-gen.lock"


def digest(content: bytes) -> str:
    """Name some bytes by their hash."""
    return hashlib.sha256(content).hexdigest()


@dataclass(frozen=True, slots=True)
class MadeBy:
    """What made the output: our version, a hash of the modules and templates that shape it, and the tools that have a say in its bytes."""

    version: str
    sources: str
    tools: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Lock:
    """One build: by whom, with which options, from which inputs to which outputs (hashes by path relative to the project)."""

    generator: MadeBy
    options: Mapping[str, str]
    inputs: Mapping[str, str]
    outputs: Mapping[str, str]

    def to_bytes(self) -> bytes:
        """Write the lock: sorted, one line per file, so that merges stay small."""
        return (json.dumps(asdict(self), indent=2, sort_keys=True) + "\n").encode()


def read(root: Path) -> Lock | None:
    """Read the lock of a project; ``None`` before its first build."""
    path = root / NAME
    try:
        members = json.loads(path.read_bytes())
        return Lock(MadeBy(**members.pop("generator")), **members)
    except FileNotFoundError:
        return None
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ProjectError(
            f"{NAME} cannot be read: {error}", "restore it from version control, or delete it and run: a2a-gen build --force"
        ) from error
