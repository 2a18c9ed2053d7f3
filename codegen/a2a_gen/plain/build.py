"""The build of plain schemas: read the files of a folder, check them, emit the package.

Every schema of a file is a type: the whole file, unless it only holds definitions, and each
definition.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import PurePosixPath

from a2a_gen.agent import models
from a2a_gen.agent.models import Definitions, assign_modules
from a2a_gen.agent.modules import list_homes
from a2a_gen.agent.schemas import files as schemas
from a2a_gen.agent.schemas.catalog import SchemaCatalog
from a2a_gen.agent.schemas.checks import check
from a2a_gen.agent.schemas.files import Library, Schema, SchemaRef
from a2a_gen.agent.types import branches
from a2a_gen.agent.types.builder import TypeBuilder
from a2a_gen.emit.package import emit_support
from a2a_gen.emit.render import render
from a2a_gen.ir.dump import to_json_value
from a2a_gen.ir.names import member_name
from a2a_gen.output.cache import BuildCache
from a2a_gen.problems import ContractError, Place, Problem, has_errors
from a2a_gen.source.json_text import escape_key
from a2a_gen.source.project import Project, find_schema_files

_BASES = models.ModelBases(
    "..support.checked_models", "CheckedModel", "ClosedCheckedModel", is_checked=True
)
_SUPPORT = (
    "checked_models",
    "core_schemas",
    "field_paths",
    "finite",
    "json_types",
    "mismatches",
    "schema_models",
    "schema_nodes",
    "text_formats",
    "typed_schema",
)
_ERROR = "SchemaMismatchError"
_ANNOTATIONS = frozenset(
    {
        "$anchor",
        "$comment",
        "$id",
        "$schema",
        "$vocabulary",
        "description",
        "examples",
        "title",
        *schemas.HOLDERS,
    }
)


@dataclass(frozen=True, slots=True)
class SchemaPackage:
    """The types of a folder of schemas, the texts of its files, and the problems that were
    found.
    """

    definitions: Definitions
    modules: Mapping[str, str]
    typed: tuple[str, ...]
    """The types that have a typed schema, in the order of the files."""
    schemas: bytes
    inputs: Mapping[str, bytes]
    problems: tuple[Problem, ...]


def read_package(project: Project) -> SchemaPackage:
    """Read the schemas of a project, or raise ``ContractError`` with every problem of them."""
    library, catalogue, found = _load(project)
    if has_errors(found):
        raise ContractError(found)
    types = TypeBuilder(catalogue)
    inputs = {path: document.text.encode() for path, document in library.files.items()}
    places = {**types.places, **{name: (target,) for target, name in catalogue.names.items()}}
    known = branches.emit(
        types.definitions,
        catalogue,
        {name: several for name, several in places.items() if name in types.definitions},
    )
    typed = tuple(catalogue.names[target] for target in catalogue.targets)
    return SchemaPackage(
        types.definitions,
        assign_modules(types.definitions),
        typed,
        known,
        inputs,
        (*found, *types.warnings),
    )


def problems(project: Project) -> tuple[Problem, ...]:
    """Find every problem of plain schemas: errors and warnings."""
    try:
        return read_package(project).problems
    except ContractError as error:
        return error.problems


def _load(project: Project) -> tuple[Library, SchemaCatalog, tuple[Problem, ...]]:
    folder = project.schema.relative_to(project.root).as_posix()
    if not project.schema.is_dir():
        problem = "the folder does not exist"
        cure = "create it, or correct"
        if project.schema.exists():
            problem = "a file"
            cure = "name its folder in"
        raise ContractError(
            [
                Problem(
                    Place(folder),
                    "A2A-S01",
                    problem,
                    f"{cure} `schema` in the project configuration",
                )
            ]
        )
    files = [
        file.relative_to(project.root).as_posix()
        for file in find_schema_files(project.schema, project.out)
    ]
    if not files:
        raise ContractError(
            [
                Problem(
                    Place(folder),
                    "A2A-S01",
                    "the folder has no schemas",
                    "add a schema: a file that ends with .json, .yaml or .yml",
                )
            ]
        )
    library = Library(project.root)
    roots = chain.from_iterable(_find_roots(library, file) for file in files)
    catalogue = SchemaCatalog(library, dict.fromkeys(roots))
    return library, catalogue, tuple(dict.fromkeys((*library.problems, *check(library))))


def _find_roots(library: Library, file: str) -> Iterator[SchemaRef]:
    """List the schemas of a file that are types: the whole, unless it only holds definitions, and
    each definition.
    """
    document = library.document(file, Place(file))
    data = document.data if document else None
    if isinstance(data, bool) or (
        isinstance(data, dict)
        and (not data.keys() <= _ANNOTATIONS or not data.keys() & {*schemas.HOLDERS})
    ):
        yield SchemaRef(file)
    if isinstance(data, dict):
        yield from _find_definitions(SchemaRef(file), data)


def _find_definitions(place: SchemaRef, schema: Schema) -> Iterator[SchemaRef]:
    for holder in schemas.HOLDERS:
        for name, each in schemas.members(schema, holder).items():
            if isinstance(each, dict | bool):
                yield SchemaRef(place.file, f"{place.pointer}/{holder}/{escape_key(name)}")


# --- the package ---


def emit(package: SchemaPackage, cache: BuildCache | None = None) -> dict[str, bytes]:
    """Emit the files of the package."""
    files = sorted(path for path in package.inputs)
    homes = {"support.typed_schema": [_ERROR], "types": sorted(package.modules)}
    names = sorted({_ERROR, *package.modules})
    constants = name_constants(package.typed)
    return {
        **models.emit(
            package.definitions, package.modules, models.EmitOptions(_BASES, cache=cache)
        ),
        **{f"support/{path}": body for path, body in emit_support(_SUPPORT).items()},
        "support/__init__.py": render(
            "package_note.py.jinja",
            sources=("a2a_gen/support",),
            says="Modules that the types and schemas of this package share.",
        ),
        "types/__init__.py": render(
            "package.py.jinja",
            sources=files,
            says="The types of all schemas.",
            homes=list_homes(package.modules),
            names=sorted(package.modules),
        ),
        "types/schemas.json": package.schemas,
        "schemas.py": render(
            "plain_schemas.py.jinja",
            sources=files,
            imports=_list_imports(package, package.typed, "types."),
            constants=constants,
        ),
        "__init__.py": render(
            "package.py.jinja",
            sources=files,
            says=f"Models of {_list_files(files)}.",
            homes=[*homes.items()],
            names=names,
        ),
        "py.typed": b"",
    }


def _list_files(files: list[str]) -> str:
    if len(files) == 1:
        return PurePosixPath(files[0]).name
    return f"{len(files)} files of JSON Schemas"


def name_constants(typed: Iterable[str]) -> list[tuple[str, str]]:
    """Name the constant of each type: ``OrderItem`` becomes ``ORDER_ITEM``, with ``_`` behind a
    name that is taken.
    """
    taken = set(typed)
    listed: list[tuple[str, str]] = []
    for name in typed:
        constant = str(member_name(name))
        while constant in taken:
            constant += "_"
        taken.add(constant)
        listed.append((constant, name))
    return listed


def _list_imports(
    package: SchemaPackage, names: Iterable[str], below: str
) -> list[tuple[str, list[str]]]:
    by_module: dict[str, list[str]] = {}
    for name in names:
        by_module.setdefault(package.modules[name], []).append(name)
    return [(f".{below}{module}", sorted(listed)) for module, listed in sorted(by_module.items())]


# --- output as JSON ---


def to_json(package: SchemaPackage) -> bytes:
    """Serialize the types as readable JSON, equal on every machine."""
    types = {
        name: {"file": file, "module": package.modules[name], "shape": shape}
        for name, (file, shape) in sorted(package.definitions.items())
    }
    return (
        json.dumps({"types": types}, default=to_json_value, ensure_ascii=False, indent=2).encode()
        + b"\n"
    )
