"""Content of an install of one extra, alone: the distributions that its requirements reach, linked
into a folder of their own.

Installing each extra for each run would take minutes. The environment ``wheel-extras`` holds
everything that the wheel may ask for; the metadata of the wheel and of these distributions say
which of them an installer would choose.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from peers.environments import interpreter


@dataclass(frozen=True)
class InstalledAlone:
    """A folder with our wheel and what some of its extras ask for."""

    site: Path
    dependencies: frozenset[str]
    dependency_bytes: int

    def run(
        self, code: str, *words: str, cwd: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run Python that finds nothing else."""
        program = f"import sys; sys.path.append({str(self.site)!r})\n{code}"
        command = [sys.executable, "-I", "-S", "-c", program, *words]
        return subprocess.run(
            command, cwd=cwd or self.site, capture_output=True, text=True, check=False, timeout=120
        )

    def run_command(self, *words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run ``a2a-gen``."""
        return self.run(
            "import sys\nfrom a2a_gen.entry import main\nsys.exit(main(sys.argv[1:]))",
            *words,
            cwd=cwd,
        )


def install_alone(wheel: Path, extras: tuple[str, ...], folder: Path) -> InstalledAlone:
    """Link an unpacked wheel and what it asks for with these extras into a folder."""
    (packages,) = (interpreter("wheel-extras").parents[1] / "lib").glob("python3*/site-packages")
    available = {canonicalize_name(each.name): each for each in distributions(path=[str(packages)])}
    (own,) = distributions(path=[str(wheel)])
    chosen = {
        canonicalize_name(name): available[name]
        for name in _reach(own, frozenset(extras), available)
    }
    site = folder / "site"
    site.mkdir()
    for entry in wheel.iterdir():
        (site / entry.name).symlink_to(entry)
    for each in chosen.values():
        for name in {
            file.parts[0] for file in each.files or () if file.parts[0] not in {"..", "__pycache__"}
        }:
            if not (site / name).exists():
                (site / name).symlink_to(packages / name)
    used = sum(
        path.stat().st_size
        for each in chosen.values()
        for file in each.files or ()
        if is_content(path := Path(str(file.locate())))
    )
    return InstalledAlone(site, frozenset(chosen), used)


def is_content(path: Path) -> bool:
    """Return whether a path is a file of a distribution, and no bytecode of it."""
    return path.is_file() and path.suffix != ".pyc"


def _reach(
    own: Distribution, extras: frozenset[str], available: dict[str, Distribution]
) -> frozenset[str]:
    """Follow requirements, with the extras that they ask for."""
    visited: set[tuple[str, str]] = set()
    reached: set[str] = set()
    name = canonicalize_name(own.name)
    pending = [(own, extra) for extra in ("", *sorted(extras))]
    while pending:
        distribution, extra = pending.pop()
        key = canonicalize_name(distribution.name), extra
        if key in visited:
            continue
        visited.add(key)
        for needed in _requirements(distribution, extra):
            target = canonicalize_name(needed.name)
            found = own if target == name else available[target]
            pending += [(found, each) for each in ("", *sorted(needed.extras))]
            if found is not own:
                reached.add(target)
    return frozenset(reached)


def _requirements(distribution: Distribution, extra: str) -> Iterator[Requirement]:
    for text in distribution.requires or ():
        requirement = Requirement(text)
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
            yield requirement
