"""Conversion of schemas to Python types.

A type accepts every value of its schema; it may accept more, which the validator at the boundary
rejects.

The type of schemas that all apply is the intersection of their types; those with members become one
class, made of their views.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from a2a_gen.agent.schemas import files as schemas
from a2a_gen.agent.schemas.catalog import SchemaCatalog, pascal
from a2a_gen.agent.schemas.files import SchemaRef
from a2a_gen.agent.types.branches import break_cycles, name_parts
from a2a_gen.agent.types.combinations import MAX_COMBINATIONS, combine_branches
from a2a_gen.agent.types.defaults import DefaultFinder
from a2a_gen.agent.types.kinds import KindFinder
from a2a_gen.agent.types.shapes import (
    AgentType,
    AliasType,
    Definition,
    DefinitionRef,
    ExtraMembers,
    ObjectType,
    ScalarType,
    TypeIntersection,
    TypeMember,
    list_options,
    make_union,
)
from a2a_gen.agent.types.single import Places, SingleSchemas, get_type_of_kind, tell_type, with_type
from a2a_gen.agent.types.value_checks import ValueChecker
from a2a_gen.agent.types.views import (
    View,
    ViewSource,
    assertions,
    conjuncts,
    explain_too_many,
    get_member_source,
    is_closed,
    is_in_every_branch,
    is_opened,
    sure_kinds,
    views,
)
from a2a_gen.problems import Level, Problem

_ANNOTATIONS = frozenset(
    {
        "$comment",
        "default",
        "deprecated",
        "description",
        "examples",
        "readOnly",
        "title",
        "writeOnly",
    }
)


_MAX_CHAIN = 100


class TypeBuilder:
    """Builds a type for every schema of a catalog; nested classes get names of their own."""

    def __init__(self, catalogue: SchemaCatalog) -> None:
        self._catalogue = catalogue
        self.definitions: dict[str, tuple[str, Definition]] = {}
        """Every type by name, with the file that it comes from."""
        self.places: dict[str, Places] = {}
        """The schemas of every class, all of which its values match."""
        self._combined: dict[tuple[object, ...], DefinitionRef] = {}
        self._targets = {name: target for target, name in catalogue.names.items()}
        self._started: set[str] = set()
        self._value_checker = ValueChecker(catalogue)
        self._defaults = DefaultFinder(catalogue, self._value_checker, self._warn)
        self._kinds = KindFinder(catalogue)
        self._single = SingleSchemas(catalogue, self._kinds, self._build_type, self._warn)
        self._intersect = TypeIntersection(self._definition).of
        self.warnings: dict[Problem, None] = {}
        for name, target in self._targets.items():
            try:
                self._definition(name)
            except RecursionError:
                raise explain_too_many(ViewSource({}, target), catalogue) from None
        self._refuse_long_chains()
        break_cycles(self.definitions)
        name_parts(self.definitions, catalogue)
        for place, index, reason in self._value_checker.find_wrong_examples():
            self._warn(
                ViewSource({}, place),
                "A2A-K15",
                f"examples[{index}] does not match the schema: {reason}",
                "correct the example",
            )

    def _refuse_long_chains(self) -> None:
        """Refuse names for names for names: Pydantic follows them recursively."""
        for name, target in self._targets.items():
            seen = set[str]()
            shape = DefinitionRef(name)
            while isinstance(
                definition := self.definitions[shape.name][1], AliasType
            ) and isinstance(definition.shape, DefinitionRef):
                seen.add(shape.name)
                shape = definition.shape
                if len(seen) > _MAX_CHAIN:
                    raise explain_too_many(ViewSource({}, target), self._catalogue)
                if shape.name in seen:
                    break

    def _definition(self, name: str) -> Definition | None:
        """Return a definition, built at first use; ``None`` while it is being built."""
        if name in self._targets and name not in self._started:
            self._started.add(name)
            self._define(self._targets[name], name)
        if name in self.definitions:
            return self.definitions[name][1]
        return None

    def _warn(self, source: ViewSource, rule: str, text: str, cure: str) -> None:
        self.warnings[
            Problem(self._catalogue.library.place(source.place), rule, text, cure, Level.WARNING)
        ] = None

    def _define(self, target: SchemaRef, name: str) -> None:
        source = ViewSource(self._catalogue.library.value(target), target)
        shape = self._build_type([source], name, is_own=True)
        if name not in self.definitions:
            self.definitions[name] = (
                target.file,
                AliasType(name, shape, schemas.text(source.schema, "description")),
            )

    def _build_type(
        self, sources: Sequence[ViewSource], name: str, *, is_own: bool = False, whole: Places = ()
    ) -> AgentType:
        """Build the type of a value that satisfies all schemas; ``name`` is the class name, or the
        preferred one, if it becomes a class.

        ``whole`` are the schemas that the sources are taken from, which may also say what no type
        can.
        """
        whole = whole or tuple(dict.fromkeys(each.place for each in sources))
        said = list(chain.from_iterable(map(assertions, sources)))
        if not said:
            return ScalarType.ANY
        if len(said) == 1 and isinstance(schema := said[0].schema, dict):
            shape = self._single.build(said[0], schema, name, is_own=is_own)
            if shape is not None:
                return shape
        found = views(said, self._catalogue)
        kinds = sure_kinds(found)
        if any(
            view.schema.get("properties") for view in found if view.is_sure or kinds
        ) and "object" in (kinds or ("object",)):
            return self._class(said, found, name, is_own=is_own, whole=whole)
        inner = said if len(said) > 1 else conjuncts(said[0])
        inner = (
            [with_type(each, kinds[0]) for each in inner] if kinds and len(kinds) == 1 else inner
        )
        combined = combine_branches(inner, self._catalogue)
        if len(combined) > MAX_COMBINATIONS:
            problem = (
                "the type has the branches of one union only: the unions that all apply have "
                f"more than {MAX_COMBINATIONS} combinations"
            )
            self._warn(
                said[0], "A2A-K11", problem, "write the combinations that occur as one union"
            )
        elif combined:
            return self._unite(combined, name)
        return self._intersect(
            [self._build_type([each], name, is_own=is_own, whole=whole) for each in inner]
        )

    def _unite(self, combined: Sequence[Sequence[ViewSource]], name: str) -> AgentType:
        """Build the union of combined branches."""
        shapes = [
            self._build_type(each, f"{name}Option{index}") for index, each in enumerate(combined, 1)
        ]
        branches: list[tuple[AgentType, Places]] = []
        for shape, sources in zip(shapes, combined, strict=True):
            places = tuple(dict.fromkeys(source.place for source in sources))
            branches += [(option, places) for option in list_options(shape)]
        return self._single.finish_union(make_union(shapes), branches)

    def _class(
        self,
        said: Sequence[ViewSource],
        found: Sequence[View],
        name: str,
        *,
        is_own: bool,
        whole: Places,
    ) -> AgentType:
        """Build the class of an object, united with the other kinds of values that its schemas
        accept.
        """
        kinds = sure_kinds(found)
        if kinds is None:
            self._warn(
                said[0],
                "A2A-K07",
                "properties without a type: values other than objects are valid too",
                tell_type("object"),
            )
        others = [get_type_of_kind(kind) for kind in kinds or () if kind != "object"]
        is_whole = is_own and not others
        # A nested reference to the schema itself is the class that is being built.
        key = tuple(
            (each.place, *sorted(each.schema), str(each.schema.get("type")))
            for each in said
            if isinstance(each.schema, dict)
        )
        # The whole takes the name itself.
        inner = name if is_whole or not is_own else f"{name}Value"
        shape = self._combined.get(key) or self._record(found, inner, key, is_own=is_whole)
        if isinstance(shape, DefinitionRef):
            self.places.setdefault(shape.name, whole)
        return make_union([shape, *others])

    # --- objects ---

    def _record(
        self, found: Sequence[View], name: str, key: tuple[object, ...], *, is_own: bool
    ) -> AgentType:
        file = found[0].place.file
        name = name if is_own else self._catalogue.unique(name, file)
        self._combined[key] = DefinitionRef(name)
        sure = [view for view in found if view.is_sure]
        required = schemas.required(view.schema for view in sure)
        wires = dict.fromkeys(
            chain.from_iterable(schemas.members(view.schema, "properties") for view in found)
        )
        # This reserves the position, so that the class comes before its parts.
        self.definitions[name] = (file, ObjectType(name, (), ExtraMembers.KEPT))
        members = tuple(
            self._member(wire, found, f"{name}{pascal(wire)}", is_required=wire in required)
            for wire in (*wires, *sorted(required - set(wires)))
        )
        descriptions = (schemas.text(view.schema, "description") for view in sure)
        description = next(filter(None, descriptions), "")
        self.definitions[name] = (file, ObjectType(name, members, _extra(found), description))
        return DefinitionRef(name)

    def _member(
        self, wire: str, found: Sequence[View], name: str, *, is_required: bool
    ) -> TypeMember:
        saying = [view for view in found if wire in schemas.members(view.schema, "properties")]
        sure = [get_member_source(view, wire) for view in saying if view.is_sure]
        maybe = [get_member_source(view, wire) for view in saying if not view.is_sure]
        shape = self._build_type(sure, name)
        if not sure and (is_closed(found) or is_in_every_branch(saying)):
            shape = make_union([self._build_type([each], name) for each in maybe])
        if shape is ScalarType.ANY and (reason := _explain_any(sure, maybe)):
            self._warn(
                reason[0], "A2A-K11", f"the member {wire!r} may be any JSON: {reason[1]}", reason[2]
            )
        said = [each.schema for each in (*sure, *maybe) if isinstance(each.schema, dict)]
        description = schemas.text(said[0], "description") if said else ""
        accepts_null = not is_required and all(
            self._kinds.may_accept(each, "null") for each in sure
        )
        return TypeMember(
            wire,
            shape,
            is_required,
            description,
            None if is_required else self._defaults.find(shape, sure or maybe),
            accepts_null,
        )


def _explain_any(
    sure: Sequence[ViewSource], maybe: Sequence[ViewSource]
) -> tuple[ViewSource, str, str] | None:
    """Explain why a member has no type; ``None`` where its author left it open."""
    for source in sure:
        if isinstance(source.schema, dict) and not source.schema.keys() <= _ANNOTATIONS:
            return (
                source,
                "its schema allows values of every type",
                'add a "type", also to each branch of a union',
            )
    for source in maybe if not sure else ():
        if schemas.is_about_types(source.schema):
            return (
                source,
                "it is declared only in some branches or under a condition",
                'declare it in the "properties" of the whole schema too',
            )
    return None


def _extra(found: Sequence[View]) -> ExtraMembers:
    """Forbid unknown members where the schema declares all; the validator rejects them in every
    other case.
    """
    said = [view.schema for view in found if view.is_sure]
    is_refused = is_closed(found) or (
        len(said) == 1 and said[0].get("additionalProperties") is False and not is_opened(found)
    )
    if is_refused:
        return ExtraMembers.REFUSED
    return ExtraMembers.KEPT
