"""The text of an ``a2a.toml`` as the models that are generated from its schema.

The schema checks every value first (``a2a_contract.config_schema``), and the rules across settings
come next (``a2a_contract.project_rules``). The generator applies both too, so neither accepts what
the other rejects.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import cast

from pydantic import TypeAdapter

import a2a_contract
from a2a_contract.auth_tables import AuthTables
from a2a_contract.config_schema import check_values
from a2a_contract.project_file import ProjectFile, SurfacesTable
from a2a_contract.project_rules import RuleViolation, check_handlers, check_project
from a2a_runtime.features.project.errors import ConfigError, ConfigProblem

_AUTH: TypeAdapter[AuthTables] = TypeAdapter(AuthTables)


def parse_project_file(text: str) -> ProjectFile:
    """Parse a whole file, or raise ``ConfigError`` with all of its problems."""
    data = tomllib.loads(text)
    _raise_problems(check_values(data, _load_schema()))
    _raise_problems((*check_project(data), *check_handlers(data)))
    return ProjectFile.model_validate(data)


def parse_surfaces(tables: Mapping[str, object]) -> SurfacesTable:
    """Parse the tables that a generated package holds."""
    _raise_problems(check_values(tables, _select_schema("SurfacesTable")))
    return SurfacesTable.model_validate(tables)


def parse_auth(entries: object) -> AuthTables:
    """Parse the entries of ``[auth]``."""
    _raise_problems(check_values(entries, _select_schema("AuthTables")), "auth")
    return _AUTH.validate_python(entries)


def _raise_problems(violations: Iterable[RuleViolation], *prefix: str) -> None:
    if problems := [
        ConfigProblem((*prefix, *each.path), f"{each.text}; {each.cure}") for each in violations
    ]:
        raise ConfigError(problems)


@cache
def _load_schema() -> Mapping[str, object]:
    path = Path(a2a_contract.__file__).parent / "schemas" / "project.json"
    return cast("Mapping[str, object]", json.loads(path.read_text(encoding="utf-8")))


def _select_schema(definition: str) -> Mapping[str, object]:
    """Return the schema of one definition of the file."""
    return {"$ref": f"#/$defs/{definition}", "$defs": _load_schema()["$defs"]}
