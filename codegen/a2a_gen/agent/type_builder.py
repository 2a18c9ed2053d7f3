"""Conversion of schemas to Python types. A type accepts every value of its schema; it may accept more, which the validator at the boundary rejects.

A schema and everything that it is combined with (``allOf``, references beside other keywords, ``if``, ``oneOf`` beside members of its own) is split
into views: one per schema with members. A view that applies only under a condition is not *sure*: its members are optional.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from a2a_gen.agent import schemas
from a2a_gen.agent.catalog import SchemaCatalog, pascal
from a2a_gen.agent.schemas import Schema, SchemaRef
from a2a_gen.agent.types import (
    AgentType,
    AliasType,
    ArrayType,
    Definition,
    DefinitionRef,
    EnumType,
    ExtraMembers,
    MapType,
    ObjectType,
    ProtocolRef,
    ScalarType,
    TupleType,
    TypeMember,
    iter_parts,
    make_union,
)
from a2a_gen.problems import ContractError, Problem
from a2a_gen.source.json_text import Json, escape_key
from a2a_gen.source.references import PROTOCOL_PREFIX

# --- views ---


@dataclass(frozen=True, slots=True)
class ViewSource:
    """A schema and its place."""

    schema: Json
    place: SchemaRef

    def part(self, pointer: str, schema: Json) -> ViewSource:
        """Return a subschema of this one."""
        return ViewSource(schema, SchemaRef(self.place.file, self.place.pointer + pointer))


@dataclass(frozen=True, slots=True)
class ViewBranch:
    """One branch of a union: the union's place, the index of the branch, and the number of branches."""

    union: SchemaRef
    number: int
    count: int


@dataclass(frozen=True, slots=True)
class View:
    """One of the combined schemas; it applies always, in one branch of a union, or under another condition."""

    schema: Schema
    place: SchemaRef
    is_sure: bool
    branch: ViewBranch | None = None


def views(sources: Sequence[ViewSource], catalogue: SchemaCatalog) -> list[View]:
    """Split schemas that all apply into views."""
    seen: set[SchemaRef] = set()
    steps = (view for source in sources for view in _views(source, catalogue, seen, (True, None)))
    try:
        found = list(islice(steps, _MAX_VIEWS + 1))
    except RecursionError:
        raise _explain_too_many(sources[0], catalogue) from None
    if len(found) > _MAX_VIEWS:
        raise _explain_too_many(sources[0], catalogue)
    return found


def _explain_too_many(source: ViewSource, catalogue: SchemaCatalog) -> ContractError:
    cure = "use fewer allOf, anyOf and oneOf"
    return ContractError([Problem(catalogue.library.place(source.place), "A2A-K08", "too many combined schemas", cure)])


def _views(source: ViewSource, catalogue: SchemaCatalog, seen: set[SchemaRef], when: tuple[bool, ViewBranch | None]) -> Iterator[View]:
    schema = source.schema
    if not isinstance(schema, dict):
        return
    yield View(schema, source.place, *when)
    text = schemas.reference(schema)
    target = catalogue.follow(source.place, text) if text is not None else None
    if target is not None and target not in seen:
        seen.add(target)
        yield from _views(ViewSource(catalogue.library.value(target), target), catalogue, seen, when)
    for pointer, part in schemas.subschemas(schema):
        keyword, _, number = pointer[1:].partition("/")
        if keyword == "allOf":
            yield from _views(source.part(pointer, part), catalogue, seen, when)
        elif keyword in {"anyOf", "oneOf", "if", "then", "else", "dependentSchemas", "dependencies"}:
            is_union = when == _ALWAYS and keyword in {"anyOf", "oneOf"}
            union = SchemaRef(source.place.file, f"{source.place.pointer}/{keyword}")
            branch = ViewBranch(union, int(number), len(schemas.items(schema, keyword))) if is_union else None
            # A schema that is visited here in one branch may also be the one that always applies.
            yield from _views(source.part(pointer, part), catalogue, set(seen), (False, branch))


_ALWAYS = (True, None)
_MAX_VIEWS = 5_000  # nested alternatives double with each level


_SCALARS: Mapping[str, ScalarType] = {
    "null": ScalarType.NULL,
    "boolean": ScalarType.BOOLEAN,
    "integer": ScalarType.INTEGER,
    "number": ScalarType.NUMBER,
}
_FORMATS: Mapping[str, ScalarType] = {"date-time": ScalarType.MOMENT, "date": ScalarType.DATE}
# Booleans before integers: in Python they are integers too.
_KINDS: Mapping[type, AgentType] = {
    bool: ScalarType.BOOLEAN,
    int: ScalarType.INTEGER,
    float: ScalarType.NUMBER,
    list: ArrayType(ScalarType.ANY),
    dict: ScalarType.OBJECT,
}
_DEFAULTS: Mapping[AgentType, Callable[[Json], bool]] = {
    ScalarType.BOOLEAN: lambda value: isinstance(value, bool),
    ScalarType.INTEGER: lambda value: isinstance(value, int) and not isinstance(value, bool),
    ScalarType.NUMBER: lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    ScalarType.STRING: lambda value: isinstance(value, str),
}


class TypeBuilder:
    """Builds a type for every schema of a catalog; nested classes get names of their own."""

    def __init__(self, catalogue: SchemaCatalog) -> None:
        self._catalogue = catalogue
        self.definitions: dict[str, tuple[str, Definition]] = {}
        """Every type by name, with the file that it comes from."""
        self._combined: dict[tuple[object, ...], DefinitionRef] = {}
        for target, name in catalogue.names.items():
            self._define(target, name)
        self._break_cycles()

    def _break_cycles(self) -> None:
        """Replace types that consist of nothing but themselves with any value: such a schema restricts nothing."""
        types = {name: definition for name, (_, definition) in self.definitions.items()}
        for name, (file, definition) in self.definitions.items():
            if isinstance(definition, AliasType) and DefinitionRef(name) in iter_parts(definition.shape, types):
                types[name] = AliasType(name, ScalarType.ANY, definition.description)
                self.definitions[name] = (file, types[name])

    def _define(self, target: SchemaRef, name: str) -> None:
        source = ViewSource(self._catalogue.library.value(target), target)
        shape = self._build_type([source], name, is_own=True)
        if name not in self.definitions:
            self.definitions[name] = (target.file, AliasType(name, shape, schemas.text(source.schema, "description")))

    def _build_type(self, sources: Sequence[ViewSource], name: str, *, is_own: bool = False) -> AgentType:
        """Build the type of a value that satisfies all schemas; ``name`` is the class name, or the preferred one, if it becomes a class."""
        said = [source for source in sources if schemas.is_about_types(source.schema)]
        if not said:
            return ScalarType.ANY
        if len(said) == 1 and isinstance(schema := said[0].schema, dict):
            shape = self._sole_reference(said[0], schema, name, is_own=is_own)
            if shape is not None:
                return shape
        found = views(said, self._catalogue)
        if any(view.schema.get("properties") for view in found):
            # A nested reference to the schema itself is the class that is being built.
            key = tuple((each.place, *sorted(each.schema), str(each.schema.get("type"))) for each in said if isinstance(each.schema, dict))
            return self._combined.get(key) or self._record(found, name, key, is_own=is_own)
        inner = [source for each in said for source in self._conjuncts(each)]
        shapes = [self._build_type([each], name, is_own=is_own) for each in inner if each not in said]
        return next((each for each in shapes if each is not ScalarType.ANY), ScalarType.ANY)

    def _conjuncts(self, source: ViewSource) -> list[ViewSource]:
        schema = source.schema if isinstance(source.schema, dict) else {}
        rest: Json = {key: value for key, value in schema.items() if key not in {*schemas.REFERENCES, "allOf"}}
        text = schemas.reference(schema)
        target = self._catalogue.follow(source.place, text) if text else None
        alone = [ViewSource({"$ref": text}, source.place)] if target else []
        return [
            *alone,
            *(source.part(pointer, part) for pointer, part in schemas.subschemas(schema) if pointer.startswith("/allOf/")),
            ViewSource(rest, source.place),
        ]

    # --- one schema alone ---

    def _sole_reference(self, source: ViewSource, schema: Schema, name: str, *, is_own: bool) -> AgentType | None:
        """Build a type from the schema's own keywords; ``None`` when the schema has to be combined with others."""
        text, rest = schemas.reference(schema), {key: value for key, value in schema.items() if key not in schemas.REFERENCES}
        if text is not None:
            return None if schemas.is_about_types(rest) else self._build_reference(source, text)
        if "const" in schema or "enum" in schema:
            return _constants([schema["const"]] if "const" in schema else schemas.items(schema, "enum"))
        branches = [
            source.part(f"/{keyword}/{index}", each) for keyword in ("oneOf", "anyOf") for index, each in enumerate(schemas.items(schema, keyword))
        ]
        if any(schemas.is_about_types(branch.schema) for branch in branches):
            return self._union(source, schema, branches, name)
        if "allOf" in schema and any(map(schemas.is_about_types, schemas.items(schema, "allOf"))):
            return None
        return self._build_by_type(source, schema, name, is_own=is_own)

    def _build_reference(self, source: ViewSource, text: str) -> AgentType:
        target = self._catalogue.follow(source.place, text)
        if target is None:
            return ScalarType.ANY
        if target.file.startswith(PROTOCOL_PREFIX):
            return ProtocolRef(f"a2a_contract.{target.file.removeprefix(PROTOCOL_PREFIX)}.{target.pointer.rpartition('/')[2]}")
        return DefinitionRef(self._catalogue.names[target])

    def _union(self, source: ViewSource, schema: Schema, branches: Sequence[ViewSource], name: str) -> AgentType | None:
        rest: Json = {key: value for key, value in schema.items() if key not in {"oneOf", "anyOf"}}
        others = views([ViewSource(rest, source.place)], self._catalogue)
        if any(view.schema.get("properties") for view in others) or ("oneOf" in schema and "anyOf" in schema):
            return None
        common = schema.get("type")
        typed = [_with_type(branch, common) for branch in branches]
        titles = [pascal(schemas.text(branch.schema, "title")) for branch in branches]
        return make_union(
            [self._build_type([each], f"{name}{title or f'Option{index}'}") for index, (each, title) in enumerate(zip(typed, titles, strict=True), 1)]
        )

    def _build_by_type(self, source: ViewSource, schema: Schema, name: str, *, is_own: bool) -> AgentType | None:
        said = schema.get("type")
        if isinstance(said, list):
            names = [each for each in said if isinstance(each, str)]
            is_object = is_own and len([each for each in names if each != "null"]) == 1
            inner = f"{name}Value" if is_object else name  # the whole takes the name itself
            return make_union([self._build_type([ViewSource({**schema, "type": each}, source.place)], inner) for each in names])
        match said or _infer_kinds(schema):
            case "object":
                return self._object(source, schema, name)
            case "array":
                return self._array(source, schema, name)
            case "string":
                return _FORMATS.get(schemas.text(schema, "format"), ScalarType.STRING)
            case str(word):
                return _SCALARS.get(word, ScalarType.ANY)
            case _:
                return None

    def _object(self, source: ViewSource, schema: Schema, name: str) -> AgentType | None:
        found = views([source], self._catalogue)
        if any(view.schema.get("properties") for view in found):
            return None
        values = [source.part(f"/patternProperties/{escape_key(key)}", each) for key, each in schemas.members(schema, "patternProperties").items()]
        others = schema.get("additionalProperties")
        if isinstance(others, dict) or (not values and others is None):
            values.append(source.part("/additionalProperties", others))
        elif others is not False:
            return ScalarType.OBJECT
        shape = make_union([self._build_type([each], f"{name}Value") for each in values])
        return ScalarType.OBJECT if shape is ScalarType.ANY else MapType(shape)

    def _array(self, source: ViewSource, schema: Schema, name: str) -> AgentType:
        listed = schema.get("prefixItems", schema.get("items"))
        keyword = "prefixItems" if "prefixItems" in schema else "items"
        if not isinstance(listed, list):
            items = schema.get("items")
            return (
                ArrayType(self._build_type([source.part("/items", items)], f"{name}Item")) if isinstance(items, dict) else ArrayType(ScalarType.ANY)
            )
        shapes = [self._build_type([source.part(f"/{keyword}/{index}", each)], f"{name}Item{index + 1}") for index, each in enumerate(listed)]
        rest = schema.get("items" if keyword == "prefixItems" else "additionalItems", True)
        is_fixed = schema.get("minItems") == len(listed) and (rest is False or schema.get("maxItems") == len(listed))
        if is_fixed and shapes:
            return TupleType(tuple(shapes))
        if rest is not False:
            shapes.append(self._build_type([source.part("/items", rest)], f"{name}Rest"))
        return ArrayType(make_union(shapes))

    # --- objects ---

    def _record(self, found: Sequence[View], name: str, key: tuple[object, ...], *, is_own: bool) -> AgentType:
        file = found[0].place.file
        name = name if is_own else self._catalogue.unique(name, file)
        self._combined[key] = DefinitionRef(name)
        sure = [view for view in found if view.is_sure]
        required = {each for view in sure for each in schemas.items(view.schema, "required") if isinstance(each, str)}
        wires = dict.fromkeys(wire for view in found for wire in schemas.members(view.schema, "properties"))
        self.definitions[name] = (file, ObjectType(name, (), ExtraMembers.KEPT))  # reserves the position, so that it comes before its parts
        members = tuple(
            self._member(wire, found, f"{name}{pascal(wire)}", is_required=wire in required) for wire in (*wires, *sorted(required - set(wires)))
        )
        description = next((text for view in sure if (text := schemas.text(view.schema, "description"))), "")
        self.definitions[name] = (file, ObjectType(name, members, _extra(sure), description))
        return DefinitionRef(name)

    def _member(self, wire: str, found: Sequence[View], name: str, *, is_required: bool) -> TypeMember:
        saying = [view for view in found if wire in schemas.members(view.schema, "properties")]
        sure = [_member_source(view, wire) for view in saying if view.is_sure]
        maybe = [_member_source(view, wire) for view in saying if not view.is_sure]
        shape = self._build_type(sure, name)
        if not sure and (_is_closed(found) or _is_in_every_branch(saying)):
            shape = make_union([self._build_type([each], name) for each in maybe])
        nothing: Schema = {}
        said = next((each.schema for each in (*sure, *maybe) if isinstance(each.schema, dict)), nothing)
        default = None if is_required else said.get("default")
        return TypeMember(wire, shape, is_required, schemas.text(said, "description"), default if _is_valid_default(shape, default) else None)


def _member_source(view: View, wire: str) -> ViewSource:
    return ViewSource({}, view.place).part(f"/properties/{escape_key(wire)}", schemas.members(view.schema, "properties")[wire])


def _is_closed(found: Sequence[View]) -> bool:
    """Check that a schema declares every member that may be present."""
    return any(view.is_sure and view.schema.get("unevaluatedProperties") is False for view in found)


def _is_in_every_branch(saying: Sequence[View]) -> bool:
    """Check that every branch of one union declares a member; a silent branch allows any value."""
    branches = {view.branch for view in saying if view.branch}
    return len({branch.union for branch in branches}) == 1 and len(branches) == next(iter(branches)).count


def _is_valid_default(shape: AgentType, default: Json) -> bool:
    """Check that Python can express a default; a member with any other default may be absent."""
    if isinstance(shape, EnumType):
        return default in shape.values
    check = _DEFAULTS.get(shape)
    return default is not None and check is not None and check(default)


def _with_type(branch: ViewSource, common: Json) -> ViewSource:
    """Add the type beside the union to a branch that has none."""
    schema = branch.schema
    if not isinstance(schema, dict) or common is None or "type" in schema or schemas.reference(schema) or "enum" in schema or "const" in schema:
        return branch
    return ViewSource({**schema, "type": common}, branch.place)


def _infer_kinds(schema: Schema) -> str | None:
    if any(keyword in schema for keyword in ("properties", "additionalProperties", "patternProperties")):
        return "object"
    return "array" if "items" in schema or "prefixItems" in schema else None


def _constants(values: Sequence[Json]) -> AgentType:
    return make_union([_constant(value) for value in values])


def _constant(value: Json) -> AgentType:
    if isinstance(value, str):
        return EnumType((value,))
    return next((shape for kind, shape in _KINDS.items() if isinstance(value, kind)), ScalarType.NULL)


def _extra(sure: Sequence[View]) -> ExtraMembers:
    """Forbid unknown members where the schema declares all; the validator rejects them in every other case."""
    said = [view.schema for view in sure]
    if any(schemas.members(schema, "patternProperties") or schema.get("additionalProperties") not in (None, False) for schema in said):
        return ExtraMembers.KEPT
    is_closed = any(schema.get("unevaluatedProperties") is False for schema in said)
    return ExtraMembers.REFUSED if is_closed or (len(said) == 1 and said[0].get("additionalProperties") is False) else ExtraMembers.KEPT
