"""Problems as values: each has a place and a cure, and a stage reports all of them at once.

    GeneratorError            root; exit code 2 unless a subclass sets another
    ├── ContractError         invalid schemas or tables; carries every Problem
    ├── ProjectError          invalid project: no configuration, unwritable output, edited files
    │   └── BaselineError     (source.git) a baseline cannot be read; exit code 3
    └── MissingExtraError     a package of an extra is not installed

A rule returns problems and never raises. Only the end of a stage raises, with all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias


class Level(StrEnum):
    """Severity of a problem: an error stops the build, a warning does not."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A position in a file: path relative to the root, line, and JSON pointer."""

    file: str
    line: int = 0
    pointer: str = ""

    def __str__(self) -> str:
        line = f":{self.line}" if self.line else ""
        pointer = f" #{self.pointer}" if self.pointer else ""
        return f"{self.file}{line}{pointer}"


Violation: TypeAlias = tuple[Place, str]
"""A place and a problem text; the rule adds the cure."""


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One problem: its place, the rule that found it, and the cure."""

    place: Place
    rule: str
    text: str
    cure: str
    level: Level = Level.ERROR

    def __str__(self) -> str:
        return f"{self.place}: {self.level}: {self.text} [{self.rule}]\n    fix: {self.cure}"


def has_errors(problems: Iterable[Problem]) -> bool:
    """Return true if a problem is an error, not a warning."""
    return any(problem.level is Level.ERROR for problem in problems)


def pluralize(number: int, noun: str) -> str:
    """Write a number with its noun."""
    if number == 1:
        return f"{number} {noun}"
    return f"{number} {noun}s"


class GeneratorError(Exception):
    """An error that ends a command with a message."""

    exit_code = 2


class ContractError(GeneratorError):
    """The contract is invalid; carries every problem, sorted by file and line."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(problems))
        super().__init__("\n".join(map(str, self.problems)))


class ProjectError(GeneratorError):
    """The project around the contract is invalid; carries the problem and its cure."""

    def __init__(self, text: str, cure: str) -> None:
        self.text = text
        self.cure = cure
        super().__init__(f"{text}\n    fix: {cure}")


class MissingExtraError(GeneratorError):
    """A package of an extra is not installed."""

    def __init__(self, package: str, extra: str = "build") -> None:
        super().__init__(
            f"{package}: not installed; it comes with the extra {extra}\n    fix: pip "
            f"install 'a2a-gen[{extra}]'"
        )


def raise_on_errors(problems: tuple[Problem, ...]) -> tuple[Problem, ...]:
    """Raise problems if one of them is an error, or return them."""
    if has_errors(problems):
        raise ContractError(problems)
    return problems
