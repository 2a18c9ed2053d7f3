"""The models of a package, made by datamodel-code-generator from shapes written as plain schemas.

What reaches it is the part of JSON Schema that it gets right every time: named objects, arrays, maps, unions and literals. Every name that it chose
is compared with ours.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from datamodel_code_generator import GenerateConfig
from datamodel_code_generator.parser import LiteralType

from a2a_gen.agent.circles import ahead, circular
from a2a_gen.agent.grouping import Definitions
from a2a_gen.agent.shape import Definition, Either, Foreign, ListOf, MapOf, Member, Named, Record, Scalar, Shape, Tuple, Words, is_nullable
from a2a_gen.emit import modelling
from a2a_gen.emit.render import BUILD, header, printable
from a2a_gen.problems import ContractError, Place, Problem
from a2a_gen.source.json_text import Json

_BASES: Final = "a2a_runtime.skills.model"

_SCALARS: Final[Mapping[Scalar, dict[str, Json]]] = {
    Scalar.ANY: {"customTypePath": f"{_BASES}.Json"},
    Scalar.NULL: {"type": "null"},
    Scalar.BOOLEAN: {"type": "boolean"},
    Scalar.INTEGER: {"type": "integer"},
    Scalar.NUMBER: {"customTypePath": f"{_BASES}.Number"},
    Scalar.STRING: {"type": "string"},
    Scalar.MOMENT: {"type": "string", "format": "date-time"},
    Scalar.DATE: {"type": "string", "format": "date"},
    Scalar.OBJECT: {"type": "object"},
}


def emit(definitions: Definitions, modules: Mapping[str, str], source: str = "", command: str = BUILD) -> dict[str, bytes]:
    """Write the modules of types, by path relative to the package; they name their files, or the one ``source`` of all."""
    if not definitions:
        return {}
    wanted: dict[str, dict[str, Definition]] = {}
    types = {name: definition for name, (_, definition) in definitions.items()}
    for name, (_, definition) in definitions.items():
        wanted.setdefault(modules[name], {})[name] = definition
    with TemporaryDirectory(prefix="a2a-gen-") as folder:
        for module, own in wanted.items():
            schema = {"$defs": {name: _definition(each, types, (module, modules)) for name, each in own.items()}}
            Path(folder, f"{module}.json").write_text(json.dumps(schema), encoding="utf-8")
        bodies = modelling.bodies(Path(folder), _config())
    _compare(wanted, bodies)
    rounds = circular(definitions)
    bodies = {module: ahead(bodies[module], rounds & own.keys()) for module, own in wanted.items()}
    files = {module: [source] if source else sorted({definitions[name][0] for name in own}) for module, own in wanted.items()}
    return {f"types/{module}.py": _module(bodies[module], files[module], command) for module in sorted(wanted)}


def _module(body: str, files: list[str], command: str) -> bytes:
    return f'{header(files, command)}\n"""The types of {printable(", ".join(files))}."""\n\n{body.lstrip()}'.encode()


def _config() -> GenerateConfig:
    config = modelling.options(f"{_BASES}.SkillModel")
    config.enum_field_as_literal = LiteralType.All
    config.use_one_literal_as_default = True
    config.use_tuple_for_fixed_items = True
    return config


# --- shapes as plain schemas -----------------------------------------------------------------------------------------------------------------------


def _definition(definition: Definition, types: Mapping[str, Definition], at: tuple[str, Mapping[str, str]]) -> dict[str, Json]:
    module, modules = at
    described: dict[str, Json] = {"description": printable(definition.description, keep="\n")} if definition.description else {}
    if not isinstance(definition, Record):
        return _written(definition.shape, module, modules) | described
    nullable: list[Json] = [each.name for each in definition.members if not each.is_required and is_nullable(each.shape, types)]
    tags: list[Json] = [
        each.name for each in definition.members if each.is_required and isinstance(each.shape, Words) and len(each.shape.values) == 1
    ]
    return {
        "type": "object",
        "properties": {each.name: _member(each, module, modules) for each in definition.members},
        "required": [each.name for each in definition.members if each.is_required],
        "customBasePath": f"{_BASES}.{definition.extra.value}",
        "x-a2a-nullable": nullable,
        "x-a2a-tags": tags,
        **described,
    }


def _member(member: Member, module: str, modules: Mapping[str, str]) -> dict[str, Json]:
    schema = _written(member.shape, module, modules)
    if member.description:
        schema["description"] = printable(member.description, keep="\n")
    if member.default is not None:
        schema["default"] = member.default
    return schema


def _written(shape: Shape, module: str, modules: Mapping[str, str]) -> dict[str, Json]:  # noqa: PLR0911 - one for each kind of shape
    match shape:
        case Scalar():
            return dict(_SCALARS[shape])
        case Words(values):
            return {"type": "string", "enum": list(values)}
        case Named(name):
            return {"$ref": f"{'' if modules[name] == module else f'{modules[name]}.json'}#/$defs/{name}"}
        case Foreign(path):
            return {"customTypePath": path}
        case ListOf(item):
            return {"type": "array", "items": _written(item, module, modules)}
        case Tuple(items):
            listed: list[Json] = [_written(each, module, modules) for each in items]
            return {"type": "array", "prefixItems": listed, "minItems": len(items), "maxItems": len(items), "items": False}
        case MapOf(value):
            return {"type": "object", "additionalProperties": _written(value, module, modules)}
        case Either(options):
            return {"anyOf": [_written(each, module, modules) for each in options]}


# --- comparing names -------------------------------------------------------------------------------------------------------------------------------


def _compare(wanted: Mapping[str, Mapping[str, Definition]], bodies: Mapping[str, str]) -> None:
    problems: list[Problem] = []
    for module, types in wanted.items():
        made = {name for node in ast.parse(bodies.get(module, "")).body for name in _declared(node)}
        for name in sorted(types.keys() ^ made):
            text = f"the type {name} gets another name in Python" if name in types else f"there is a type {name} that no schema has asked for"
            problems.append(Problem(Place(module), "A2A-K02", text, "give the type a name that is no word of Python or Pydantic"))
    if problems:
        raise ContractError(problems)


def _declared(node: ast.stmt) -> list[str]:
    match node:
        case ast.ClassDef(name=name) | ast.Assign(targets=[ast.Name(id=name)]):
            return [name]
        case _:
            return []
