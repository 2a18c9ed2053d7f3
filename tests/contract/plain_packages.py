"""Packages of plain schemas, made in a folder and imported, without the steps that format them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from itertools import count
from pathlib import Path

from imported_modules import forget_packages

from a2a_gen.plain import build as plain
from a2a_gen.source.project import Project

_NUMBERS = count()


def make_project(folder: Path, package: str, files: Mapping[str, object]) -> Project:
    """Write schemas, texts as they are, and describe the project."""
    for path, schema in files.items():
        file = folder / "schemas" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(schema if isinstance(schema, str) else json.dumps(schema), encoding="utf-8")
    return Project(
        folder, "models", folder / "a2a-gen.toml", folder / "schemas", package, folder / package
    )


def emit(folder: Path, package: str, files: Mapping[str, object]) -> dict[str, bytes]:
    """Generate the files of a package."""
    return plain.emit(plain.read_package(make_project(folder, package, files)))


@contextmanager
def import_package(folder: Path, files: Mapping[str, object]) -> Iterator[str]:
    """Make a package under a name of its own, and make it importable;
    ``import_module(f"{name}.schemas")`` has its typed schemas.
    """
    name = f"plain_package_{next(_NUMBERS)}"
    for path, body in emit(folder, name, files).items():
        target = folder / name / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(body)
    sys.path.insert(0, str(folder))
    try:
        import_module(name)
        yield name
    finally:
        sys.path.remove(str(folder))
        forget_packages(name)
