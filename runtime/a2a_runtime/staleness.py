"""Whether what a package was generated from is still as it was: what ``a2a-gen build`` has written down of it, against the files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from a2a_contract.kinds import is_object

LOCK = "a2a-gen.lock"


def changed_since_build(folder: Path) -> Iterator[str]:
    """Name the files of a project that have changed; where they, or the lock, are not deployed, there is nothing to compare."""
    try:
        lock: object = json.loads((folder / LOCK).read_bytes())
    except (OSError, ValueError):
        return
    inputs = lock.get("inputs") if is_object(lock) else None
    for path, digest in inputs.items() if is_object(inputs) else ():
        try:
            content = (folder / path).read_bytes()
        except OSError:
            continue
        if sha256(content).hexdigest() != digest:
            yield path
