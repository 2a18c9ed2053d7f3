"""The models of a package, made by datamodel-code-generator from shapes written as plain schemas.

What reaches it is the part of JSON Schema that it gets right every time: named objects, arrays, maps, unions and literals. Every name that it chose
is compared with ours.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from textwrap import indent
from typing import Final, TypeGuard

from datamodel_code_generator import GenerateConfig
from datamodel_code_generator.parser import LiteralType

from a2a_gen.agent.types import (
    AgentType,
    AliasType,
    ArrayType,
    Definition,
    DefinitionRef,
    EnumType,
    MapType,
    ObjectType,
    ProtocolRef,
    ScalarType,
    TupleType,
    TypeMember,
    UnionType,
    is_nullable,
)
from a2a_gen.emit import models
from a2a_gen.emit.render import BUILD, escape_unprintable, header
from a2a_gen.ir.names import module_name
from a2a_gen.problems import ContractError, Place, Problem
from a2a_gen.source.json_text import Json

# Which types go into one module: those of one file, or of several files that refer to each other in a circle.

Definitions = Mapping[str, tuple[str, Definition]]


def assign_modules(definitions: Definitions) -> Mapping[str, str]:
    """Name the module of every type."""
    files = sorted({file for file, _ in definitions.values()})
    uses: dict[str, set[str]] = {file: set() for file in files}
    for file, definition in definitions.values():
        uses[file] |= {definitions[name][0] for name in find_names(definition)}
    reached = {file: find_reachable(file, uses) for file in files}
    modules: dict[str, str] = {}
    for file in files:
        first = min(other for other in files if other == file or (other in reached[file] and file in reached[other]))
        modules[file] = modules[first] if first != file else _unique(file, modules)
    return {name: modules[file] for name, (file, _) in definitions.items()}


def find_names(definition: Definition) -> Iterator[str]:
    """List the types that a type is made of."""
    for shape in (member.shape for member in definition.members) if isinstance(definition, ObjectType) else (definition.shape,):
        yield from _names(shape)


def _names(shape: AgentType) -> Iterator[str]:
    match shape:
        case DefinitionRef(name):
            yield name
        case ArrayType(inner) | MapType(inner):
            yield from _names(inner)
        case UnionType(several) | TupleType(several):
            for each in several:
                yield from _names(each)
        case _:
            return


def find_reachable(start: str, uses: Mapping[str, set[str]]) -> set[str]:
    """Follow what uses what; the start itself is reached only in a circle."""
    seen: set[str] = set()
    waiting = [*uses[start]]
    while waiting:
        each = waiting.pop()
        if each not in seen:
            seen.add(each)
            waiting.extend(uses[each])
    return seen


def _unique(file: str, modules: Mapping[str, str]) -> str:
    """Name the module of a file, and put folders in front where another file has that name."""
    path = PurePosixPath(file)
    parts = [module_name(part) for part in (*path.parts[:-1], path.name)]
    taken = set(modules.values())
    tries = ("_".join(parts[-length:]) for length in range(1, len(parts) + 1))
    return next((each for each in tries if each not in taken), f"{'_'.join(parts)}_{len(taken)}")


# Types that lead back to themselves, written so that everybody who reads them can follow.
#
# Pydantic follows an alias in a circle only when it is a `TypeAliasType`; pyright only when it is a plain `TypeAlias`, in text, before whatever uses
# it. So it is the one at run time and the other for type checkers, ahead of the rest of its module.
#


def find_cycles(definitions: Definitions) -> frozenset[str]:
    """Name the aliases that lead back to themselves, directly or through other types."""
    uses = {name: set(find_names(definition)) for name, (_, definition) in definitions.items()}
    return frozenset(
        name for name, (_, definition) in definitions.items() if isinstance(definition, AliasType) and name in find_reachable(name, uses)
    )


def find_forward_references(body: str, names: Collection[str]) -> str:
    """Put some aliases of a module before everything else that it makes."""
    nodes = ast.parse(body).body
    lines = body.splitlines(keepends=True)
    checked = run = ""
    for node, after in reversed(list(zip(nodes, [*nodes[1:], None], strict=True))):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(args=[_, value])) if name in names:
                end = after if _is_text(after) else node
                said = "".join(lines[node.end_lineno : end.end_lineno])
                written = repr(ast.unparse(_Bare().visit(value)))
                checked = f"{name}: TypeAlias = {written}\n{said}{checked}"
                run = f"{name} = TypeAliasType({name!r}, {written})\n{run}"
                del lines[node.lineno - 1 : end.end_lineno]
            case _:
                pass
    if not run:
        return body
    first = next((node.lineno for node in nodes if not isinstance(node, ast.Import | ast.ImportFrom)), 1) - 1
    block = f"from typing import TYPE_CHECKING, TypeAlias\n\nif TYPE_CHECKING:\n{indent(checked, '    ')}\nelse:\n{indent(run, '    ')}\n\n"
    return "".join([*lines[:first], block, *lines[first:]])


def _is_text(node: ast.stmt | None) -> TypeGuard[ast.Expr]:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


class _Bare(ast.NodeTransformer):
    """Takes the quotes from names that stand within a type, and leaves words alone."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """Look into everything but literals."""
        return node if isinstance(node.value, ast.Name) and node.value.id == "Literal" else self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        """Read a name, or a whole type, that is written as text."""
        return ast.parse(node.value, mode="eval").body if isinstance(node.value, str) else node


_BASES: Final = "a2a_runtime.skills.model"

_SCALARS: Final[Mapping[ScalarType, dict[str, Json]]] = {
    ScalarType.ANY: {"customTypePath": f"{_BASES}.Json"},
    ScalarType.NULL: {"type": "null"},
    ScalarType.BOOLEAN: {"type": "boolean"},
    ScalarType.INTEGER: {"type": "integer"},
    ScalarType.NUMBER: {"customTypePath": f"{_BASES}.Number"},
    ScalarType.STRING: {"type": "string"},
    ScalarType.MOMENT: {"type": "string", "format": "date-time"},
    ScalarType.DATE: {"type": "string", "format": "date"},
    ScalarType.OBJECT: {"type": "object"},
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
        bodies = models.bodies(Path(folder), _config())
    _compare(wanted, bodies)
    rounds = find_cycles(definitions)
    bodies = {module: find_forward_references(bodies[module], rounds & own.keys()) for module, own in wanted.items()}
    files = {module: [source] if source else sorted({definitions[name][0] for name in own}) for module, own in wanted.items()}
    return {f"types/{module}.py": _module(bodies[module], files[module], command) for module in sorted(wanted)}


def _module(body: str, files: list[str], command: str) -> bytes:
    return f'{header(files, command)}\n"""The types of {escape_unprintable(", ".join(files))}."""\n\n{body.lstrip()}'.encode()


def _config() -> GenerateConfig:
    config = models.options(f"{_BASES}.SkillModel")
    config.enum_field_as_literal = LiteralType.All
    config.use_one_literal_as_default = True
    config.use_tuple_for_fixed_items = True
    return config


# --- shapes as plain schemas -----------------------------------------------------------------------------------------------------------------------


def _definition(definition: Definition, types: Mapping[str, Definition], at: tuple[str, Mapping[str, str]]) -> dict[str, Json]:
    module, modules = at
    described: dict[str, Json] = {"description": escape_unprintable(definition.description, keep="\n")} if definition.description else {}
    if not isinstance(definition, ObjectType):
        return _render_module(definition.shape, module, modules) | described
    nullable: list[Json] = [each.name for each in definition.members if not each.is_required and is_nullable(each.shape, types)]
    tags: list[Json] = [
        each.name for each in definition.members if each.is_required and isinstance(each.shape, EnumType) and len(each.shape.values) == 1
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


def _member(member: TypeMember, module: str, modules: Mapping[str, str]) -> dict[str, Json]:
    schema = _render_module(member.shape, module, modules)
    if member.description:
        schema["description"] = escape_unprintable(member.description, keep="\n")
    if member.default is not None:
        schema["default"] = member.default
    return schema


def _render_module(shape: AgentType, module: str, modules: Mapping[str, str]) -> dict[str, Json]:  # noqa: PLR0911 - one for each kind of shape
    match shape:
        case ScalarType():
            return dict(_SCALARS[shape])
        case EnumType(values):
            return {"type": "string", "enum": list(values)}
        case DefinitionRef(name):
            return {"$ref": f"{'' if modules[name] == module else f'{modules[name]}.json'}#/$defs/{name}"}
        case ProtocolRef(path):
            return {"customTypePath": path}
        case ArrayType(item):
            return {"type": "array", "items": _render_module(item, module, modules)}
        case TupleType(items):
            listed: list[Json] = [_render_module(each, module, modules) for each in items]
            return {"type": "array", "prefixItems": listed, "minItems": len(items), "maxItems": len(items), "items": False}
        case MapType(value):
            return {"type": "object", "additionalProperties": _render_module(value, module, modules)}
        case UnionType(options):
            return {"anyOf": [_render_module(each, module, modules) for each in options]}


# --- comparing names -------------------------------------------------------------------------------------------------------------------------------


def _compare(wanted: Mapping[str, Mapping[str, Definition]], bodies: Mapping[str, str]) -> None:
    problems: list[Problem] = []
    for module, types in wanted.items():
        made = {name for node in ast.parse(bodies.get(module, "")).body for name in _declared_names(node)}
        for name in sorted(types.keys() ^ made):
            text = f"the type {name} gets another name in Python" if name in types else f"there is a type {name} that no schema has asked for"
            problems.append(Problem(Place(module), "A2A-K02", text, "give the type a name that is no word of Python or Pydantic"))
    if problems:
        raise ContractError(problems)


def _declared_names(node: ast.stmt) -> list[str]:
    match node:
        case ast.ClassDef(name=name) | ast.Assign(targets=[ast.Name(id=name)]):
            return [name]
        case _:
            return []
