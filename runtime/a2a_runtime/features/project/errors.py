"""Problems of a project file, each with the path of the setting and its line.

Pure, but for the file that is read for the lines.

a2a.toml:14: auth.staff.keys: …
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from a2a_contract.project_rules import map_lines, nearest_line


class ConfigProblem(NamedTuple):
    """A problem of one setting; the path is the names of its tables and its own."""

    path: tuple[str | int, ...]
    text: str

    def __str__(self) -> str:
        """Return path and text, without the line."""
        name = ""
        for step in self.path:
            name += f"[{step}]" if isinstance(step, int) else f".{step}"
        name = name.removeprefix(".")
        if name:
            return f"{name}: {self.text}"
        return self.text


class ConfigError(ValueError):
    """Invalid settings; ``problems`` lists all of them."""

    def __init__(self, problems: Sequence[ConfigProblem]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems


class ProjectConfigError(ValueError):
    """A project that cannot be served; the text names file and line of each problem, and the
    fix.
    """


@contextmanager
def locate_problems(path: Path) -> Generator[None, None, None]:
    """Replace a ``ConfigError`` by a ``ProjectConfigError`` with the lines of a file."""
    try:
        yield
    except ConfigError as error:
        lines = map_lines(path.read_text(encoding="utf-8"))
        raise ProjectConfigError(
            "\n".join(f"{path}:{nearest_line(lines, each.path)}: {each}" for each in error.problems)
        ) from error


@contextmanager
def report_at(path: tuple[str, ...], *kinds: type[Exception]) -> Generator[None, None, None]:
    """Replace errors of some kinds by a ``ConfigError`` of one setting."""
    try:
        yield
    except kinds as error:
        raise ConfigError([ConfigProblem(path, str(error))]) from error
