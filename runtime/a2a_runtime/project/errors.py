"""Problems of a project file, each with the path of the setting and its line. Pure, but for the file that is read for the lines.

a2a.toml:14: auth.staff.keys: …
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple, get_args

from pydantic import BaseModel, ValidationError

from a2a_contract.field_paths import parse_location
from a2a_contract.project_rules import map_lines, nearest_line


class ConfigProblem(NamedTuple):
    """A problem of one setting; the path is the names of its tables and its own."""

    path: tuple[str | int, ...]
    text: str

    def __str__(self) -> str:
        """Return path and text, without the line."""
        name = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.path).removeprefix(".")
        return f"{name}: {self.text}" if name else self.text


class ConfigError(ValueError):
    """Invalid settings; ``problems`` lists all of them."""

    def __init__(self, problems: Sequence[ConfigProblem]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems


class ProjectConfigError(ValueError):
    """A project that cannot be served; the text names file and line of each problem, and the fix."""


@contextmanager
def locate_problems(path: Path) -> Generator[None, None, None]:
    """Replace a ``ConfigError`` by a ``ProjectConfigError`` with the lines of a file."""
    try:
        yield
    except ConfigError as error:
        lines = map_lines(path.read_text(encoding="utf-8"))
        raise ProjectConfigError("\n".join(f"{path}:{nearest_line(lines, each.path)}: {each}" for each in error.problems)) from error


@contextmanager
def report_at(path: tuple[str, ...], *kinds: type[Exception]) -> Generator[None, None, None]:
    """Replace errors of some kinds by a ``ConfigError`` of one setting."""
    try:
        yield
    except kinds as error:
        raise ConfigError([ConfigProblem(path, str(error))]) from error


def to_config_problems(error: ValidationError, model: type[BaseModel], *prefix: str) -> list[ConfigProblem]:
    """List the problems of a table that stands at a path."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    located = ((parse_location(model, each["loc"]), each) for each in found)
    return list(dict.fromkeys(ConfigProblem((*prefix, *path), _describe(each["type"], each["msg"], model, path)) for path, each in located))


def _describe(kind: str, text: str, model: type[BaseModel], path: Sequence[str | int]) -> str:
    match kind:
        case "extra_forbidden":
            known = _find_table(model, path[:-1]).model_fields
            similar = get_close_matches(str(path[-1]), known, 1)
            return f"unknown setting; did you mean {similar[0]}?" if similar else f"unknown setting; the settings here are {', '.join(known)}"
        case "missing":
            return "missing; add it"
        case "model_type" | "dict_type":
            return "not a table; write it as a table"
        case _:
            return text.removeprefix("Value error, ")


def _find_table(model: type[BaseModel], path: Sequence[str | int]) -> type[BaseModel]:
    """Follow a path to a nested table; names and numbers of entries are skipped."""
    for step in path:
        field = model.model_fields.get(str(step))
        model = next(_iterate_tables(field.annotation), model) if field else model
    return model


def _iterate_tables(annotation: object) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for each in get_args(annotation):
        yield from _iterate_tables(each)
