"""What is wrong with a settings file: where, why, and what to write instead. Pure.

a2a.toml:14: auth.staff.keys: …
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, get_args

from pydantic import BaseModel, ValidationError

from a2a_contract.field_paths import parse_location
from a2a_contract.project_rules import find_line


class ConfigProblem(NamedTuple):
    """What is wrong with a setting, and where it stands: the names of the tables that lead to it."""

    path: tuple[str | int, ...]
    text: str

    def __str__(self) -> str:
        """Write it without its line."""
        place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.path).removeprefix(".")
        return f"{place}: {self.text}" if place else self.text


class ConfigError(ValueError):
    """Some settings cannot be used; ``complaints`` says which, why, and what to write."""

    def __init__(self, problems: Sequence[ConfigProblem]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems


def to_config_problems(error: ValidationError, model: type[BaseModel], *prefix: str) -> list[ConfigProblem]:
    """List what is wrong with a table of a type, which stands at a path."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    told = ((parse_location(model, each["loc"]), each) for each in found)
    return list(dict.fromkeys(ConfigProblem((*prefix, *path), _describe(each["type"], each["msg"], model, path)) for path, each in told))


def format_problems(problems: Iterable[ConfigProblem], file: Path, text: str) -> str:
    """Write complaints about a file, each with its line."""
    return "\n".join(f"{file}:{find_line(text, each.path)}: {each}" for each in problems)


def _describe(kind: str, text: str, model: type[BaseModel], path: Sequence[str | int]) -> str:
    match kind:
        case "extra_forbidden":
            return f"there is no such setting; there is {', '.join(_find_table(model, path[:-1]).model_fields)}"
        case "missing":
            return "this must be there; write it"
        case "model_type" | "dict_type":
            return "this must be a table"
        case _:
            return text.removeprefix("Value error, ")


def _find_table(model: type[BaseModel], path: Sequence[str | int]) -> type[BaseModel]:
    """Follow a path into the tables of a table; what is only the name or the number of one among many leads nowhere else."""
    for step in path:
        field = model.model_fields.get(str(step))
        model = next(_iterate_tables(field.annotation), model) if field else model
    return model


def _iterate_tables(annotation: object) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for each in get_args(annotation):
        yield from _iterate_tables(each)
