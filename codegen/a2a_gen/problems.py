"""What can be wrong with a contract, as values: a problem has a place and a cure, and all of them are shown at once.

    GeneratorError            the root; exit code 2 unless said otherwise
    ├── ContractError         the schemas or tables are wrong: carries every Problem found
    ├── ProjectError          the project itself: no configuration, unwritable output, hand-edited files
    └── MissingExtraError     a package of the extra ``build`` is not installed

A rule never raises: it returns problems. Only the end of a stage raises, with all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias


class Level(StrEnum):
    """How bad a problem is: an error stops the build, a warning is only shown."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Where in the contract: a file relative to its root, a line, and a JSON pointer."""

    file: str
    line: int = 0
    pointer: str = ""

    def __str__(self) -> str:
        line = f":{self.line}" if self.line else ""
        pointer = f" #{self.pointer}" if self.pointer else ""
        return f"{self.file}{line}{pointer}"


Violation: TypeAlias = tuple[Place, str]
"""What a rule finds: a place and what is wrong there; the rule itself knows the cure."""


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One thing that is wrong, where it is, and what to do about it."""

    place: Place
    rule: str
    text: str
    cure: str
    level: Level = Level.ERROR

    def __str__(self) -> str:
        return f"{self.place}: {self.level}: {self.text} [{self.rule}]\n    fix: {self.cure}"


class GeneratorError(Exception):
    """Anything that ends a command with a message instead of a result."""

    exit_code = 2


class ContractError(GeneratorError):
    """The contract is wrong; carries every problem, in the order of files and lines."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(problems))
        super().__init__("\n".join(map(str, self.problems)))


class ProjectError(GeneratorError):
    """The project around the contract is wrong: what, and what to do."""

    def __init__(self, text: str, cure: str) -> None:
        self.text, self.cure = text, cure
        super().__init__(f"{text}\n    fix: {cure}")


class MissingExtraError(GeneratorError):
    """A package that only building needs is not installed."""

    def __init__(self, package: str) -> None:
        super().__init__(f"{package} is needed to build and is not installed\n    fix: pip install 'a2a-gen[build]'")
