"""One folder of `tests/cases`, as values."""

from __future__ import annotations

import shutil
import tomllib
from dataclasses import dataclass
from pathlib import Path

CASES = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Step:
    """One command, what is changed before it, and what must be true after it."""

    run: str = "build"
    exit: int = 0
    lay: str | None = None
    remove: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Case:
    """A project, and the commands that are run in it."""

    folder: Path
    says: str
    steps: tuple[Step, ...]
    on: str | None = None
    shows: tuple[str, ...] = ("",)

    def lay_out(self, project: Path) -> None:
        """Copy the input to an empty folder."""
        for source in (CASES / self.on / "input" if self.on else None, self.folder / "input"):
            if source is not None and source.exists():
                shutil.copytree(source, project, dirs_exist_ok=True, symlinks=True)

    def prepare(self, step: Step, project: Path) -> None:
        """Change what a step wants to be changed."""
        if step.lay:
            shutil.copytree(self.folder / step.lay, project, dirs_exist_ok=True, symlinks=True)
        for path in step.remove:
            (project / path).unlink()


def read_case(folder: Path) -> Case:
    """Read a case; a misspelled key is an error."""
    table = tomllib.loads((folder / "case.toml").read_text(encoding="utf-8"))
    steps = tuple(_step(step) for step in table.pop("step", [{}]))
    return Case(folder, steps=steps, shows=tuple(table.pop("shows", ("",))), **table)


def _step(table: dict[str, str | int | list[str]]) -> Step:
    return Step(
        **{key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}
    )


def tree(folder: Path, shows: tuple[str, ...] = ("",)) -> dict[str, bytes]:
    """Read every file below a folder whose path begins in one of some ways."""
    files = (
        path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts
    )
    found = {path.relative_to(folder).as_posix(): path for path in sorted(files)}
    return {name: path.read_bytes() for name, path in found.items() if name.startswith(shows)}
