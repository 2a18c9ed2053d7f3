"""What stands on disk against what a build would write: stale, edited by hand, left over, or nobody's."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from a2a_gen.output import lock
from a2a_gen.output.lock import Lock
from a2a_gen.output.publish import Plan


@dataclass(frozen=True, slots=True)
class Drift:
    """Every difference; empty (and false) when a build would write nothing."""

    plan: Plan
    files: Mapping[str, bytes]
    foreign: tuple[str, ...]
    has_stale_lock: bool

    def __bool__(self) -> bool:
        return bool(self.plan.write or self.plan.remove or self.plan.edited or self.foreign or self.has_stale_lock)

    def reasons(self) -> Iterator[tuple[str, str]]:
        """Name every file that differs, and how."""
        for path, before in self.plan.write.items():
            yield path, "missing" if before is None else "edited by hand" if path in self.plan.edited else "stale"
        for path in sorted({*self.plan.remove, *self.plan.edited} - set(self.plan.write)):
            yield path, "no longer generated, and edited by hand" if path in self.plan.edited else "no longer generated"
        for path in self.foreign:
            yield path, "not generated: move it out of the folder of generated files"
        if self.has_stale_lock:
            yield lock.NAME, "does not describe these inputs and outputs"

    def diff(self) -> Iterator[str]:
        """Show the differences as a unified diff, from what stands there to what would be written."""
        for path, before in self.plan.write.items():
            yield from _unified(path, before, self.files[path])
        for path, before in self.plan.remove.items():
            yield from _unified(path, before, None)


def find_drift(root: Path, out: Path, files: Mapping[str, bytes], plan: Plan, locks: tuple[Lock | None, Lock]) -> Drift:
    """Compare; a generator of another version that writes the same bytes is no difference."""
    old, new = locks
    described = old is not None and (old.options, old.inputs, old.outputs) == (new.options, new.inputs, new.outputs)
    known = {*files, *plan.remove, *plan.edited}
    present = (file.relative_to(root).as_posix() for file in out.rglob("*") if file.is_file() and "__pycache__" not in file.parts)
    return Drift(plan, files, tuple(sorted(set(present) - known)), has_stale_lock=not described)


def _unified(path: str, before: bytes | None, after: bytes | None) -> Iterator[str]:
    old, new = (content.decode(errors="replace").splitlines() if content is not None else [] for content in (before, after))
    names = ("/dev/null" if before is None else f"a/{path}", "/dev/null" if after is None else f"b/{path}")
    return difflib.unified_diff(old, new, *names, lineterm="")
