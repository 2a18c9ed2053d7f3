"""What the last build made and this one need not make again: the models of dialects of which no input has changed.

Making models is half of a build, and most edits touch one dialect. The lock says what a dialect was made from and what came out; only files that are
still as they were left are taken. ``a2a-gen check`` and ``build --force`` make everything anew, so nothing can hide here.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from a2a_gen.output.lock import Lock, digest


def unchanged_dialects(old: Lock, new: Lock, dialects: Iterable[str], schema: str) -> frozenset[str]:
    """Name the dialects whose own files and whose tables are what they were in the last build, by the same generator."""
    if (old.generator, old.options) != (new.generator, new.options):
        return frozenset()
    names = frozenset(dialects)
    changed = {path for path, _ in old.inputs.items() ^ new.inputs.items()}
    folders = {path.removeprefix(f"{schema}/").partition("/")[0] for path in changed}
    return names - folders if folders <= names else frozenset()


def kept_models(old: Lock, out: Path, root: Path, dialects: Iterable[str]) -> dict[str, bytes]:
    """Read the models of some dialects from where the last build left them, by path relative to the package; nothing of a dialect that was touched."""
    kept: dict[str, bytes] = {}
    for dialect in dialects:
        folder = (out / dialect).relative_to(root).as_posix()
        listed = {path: hashed for path, hashed in old.outputs.items() if path.startswith(f"{folder}/")}
        files = {path: (root / path).read_bytes() for path in listed if (root / path).is_file()}
        if {path: digest(content) for path, content in files.items()} == listed:
            kept |= {Path(root, path).relative_to(out).as_posix(): content for path, content in files.items()}
    return kept
