"""What is wrong with a settings file: where, why, and what to write instead. Pure.

a2a.toml:14: auth.staff.keys: …
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ValidationError

from a2a_contract.steps import steps
from a2a_contract.toml_lines import line_of


class Complaint(NamedTuple):
    """What is wrong with a setting, and where it stands: the names of the tables that lead to it."""

    path: tuple[str | int, ...]
    text: str

    def __str__(self) -> str:
        """Write it without its line."""
        place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.path).removeprefix(".")
        return f"{place}: {self.text}" if place else self.text


class ComplaintsError(ValueError):
    """Some settings cannot be used; ``complaints`` says which, why, and what to write."""

    def __init__(self, complaints: Sequence[Complaint]) -> None:
        super().__init__("\n".join(map(str, complaints)))
        self.complaints = complaints


def complaints_of(error: ValidationError, of: type[BaseModel], cure: str, *before: str) -> list[Complaint]:
    """List what is wrong with a table of a type at a path; ``cure`` is for settings that it does not have."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    return list(dict.fromkeys(Complaint((*before, *steps(of, each["loc"])), _text(each["type"], each["msg"], cure)) for each in found))


def told(complaints: Iterable[Complaint], file: Path, text: str) -> str:
    """Write complaints about a file, each with its line."""
    return "\n".join(f"{file}:{line_of(text, each.path)}: {each}" for each in complaints)


def _text(kind: str, text: str, cure: str) -> str:
    match kind:
        case "extra_forbidden":
            return f"there is no such setting; {cure}"
        case "missing":
            return "this must be there; write it"
        case "model_type" | "dict_type":
            return "this must be a table"
        case _:
            return text.removeprefix("Value error, ")
