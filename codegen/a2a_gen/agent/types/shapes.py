"""Python types of schemas and the names of members: pure values in which everything is decided."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import chain
from typing import TypeAlias

from a2a_gen.agent.schemas.files import SchemaRef
from a2a_gen.source.json_text import Json


class ScalarType(Enum):
    """A type without parts."""

    ANY = "any"
    NULL = "null"
    BOOLEAN = "boolean"
    INTEGER = "integer"
    NUMBER = "number"
    STRING = "string"
    MOMENT = "date-time"
    DATE = "date"
    TIME = "time"
    DURATION = "duration"
    UUID = "uuid"
    BASE64 = "base64"
    BASE16 = "base16"
    BINARY = "binary"
    OBJECT = "object"


TEXT_FORMATS = frozenset(
    {
        ScalarType.MOMENT,
        ScalarType.DATE,
        ScalarType.TIME,
        ScalarType.DURATION,
        ScalarType.UUID,
        ScalarType.BASE64,
        ScalarType.BASE16,
        ScalarType.BINARY,
    }
)
"""Texts of a format that Python has a type for."""


@dataclass(frozen=True, slots=True)
class EnumType:
    """A set of literal texts."""

    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DefinitionRef:
    """A reference to a type of this build."""

    name: str


@dataclass(frozen=True, slots=True)
class ProtocolRef:
    """A reference to a type of the protocol, by its Python path."""

    path: str


@dataclass(frozen=True, slots=True)
class ArrayType:
    """An array."""

    item: AgentType


@dataclass(frozen=True, slots=True)
class TupleType:
    """An array whose items have types of their own; some of the last may be missing, and ``rest``
    is the type of those that follow.
    """

    items: tuple[AgentType, ...]
    optional: int = 0
    rest: AgentType | None = None

    @property
    def is_fixed(self) -> bool:
        """True if there is one length."""
        return not self.optional and self.rest is None

    @property
    def least(self) -> int:
        """The smallest length."""
        return len(self.items) - self.optional

    def get_item(self, index: int) -> AgentType | None:
        """Return the type of an item; ``None`` where the array ends."""
        if index < len(self.items):
            return self.items[index]
        return self.rest


@dataclass(frozen=True, slots=True)
class MapType:
    """An object with arbitrary keys."""

    value: AgentType


@dataclass(frozen=True, slots=True)
class UnionType:
    """A union of types; ``branches`` are the schemas of its options, all of which apply, where each
    option is a branch of a schema or of several.
    """

    options: tuple[AgentType, ...]
    branches: tuple[tuple[AgentType, tuple[SchemaRef, ...]], ...] = field(default=(), compare=False)
    is_open: bool = field(default=False, compare=False)
    """True where the schema of an option also accepts texts, numbers or booleans, of which the
    option is not.
    """


AgentType: TypeAlias = (
    ScalarType
    | EnumType
    | DefinitionRef
    | ProtocolRef
    | ArrayType
    | TupleType
    | MapType
    | UnionType
)


class ExtraMembers(Enum):
    """The treatment of members that a class does not declare."""

    KEPT = "kept"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class TypeMember:
    """A member of an object."""

    name: str
    shape: AgentType
    is_required: bool
    description: str = ""
    default: Json = None
    accepts_null: bool = False
    """True where the schema accepts null, also where the type does not say so."""


@dataclass(frozen=True, slots=True)
class ObjectType:
    """A class."""

    name: str
    members: tuple[TypeMember, ...]
    extra: ExtraMembers
    description: str = ""


@dataclass(frozen=True, slots=True)
class AliasType:
    """A name for a type that is not a class."""

    name: str
    shape: AgentType
    description: str = ""


Definition: TypeAlias = ObjectType | AliasType


def make_union(options: Sequence[AgentType]) -> AgentType:
    """Unite types: any value absorbs the others, duplicates are dropped, null comes last."""
    unique = list(dict.fromkeys(chain.from_iterable(map(list_options, options))))
    if ScalarType.ANY in unique or not unique:
        return ScalarType.ANY
    enums = [each for each in unique if isinstance(each, EnumType)]
    united: list[AgentType] = [each for each in unique if not isinstance(each, EnumType)]
    if enums and ScalarType.STRING not in united:
        # All words become one enumeration, at the place of the first.
        words = dict.fromkeys(chain.from_iterable(each.values for each in enums))
        united.insert(unique.index(enums[0]), EnumType(tuple(words)))
    united.sort(key=lambda each: each is ScalarType.NULL)
    if len(united) == 1:
        return united[0]
    return UnionType(tuple(united))


def list_options(shape: AgentType) -> tuple[AgentType, ...]:
    """List the options of a union; any other type is its own option."""
    return shape.options if isinstance(shape, UnionType) else (shape,)


class TypeIntersection:
    """Intersects types: the result accepts every value that both accept.

    ``resolve`` returns the definition of a name; it may not exist yet.
    """

    def __init__(self, resolve: Callable[[str], Definition | None]) -> None:
        self._resolve = resolve
        self._open: set[tuple[AgentType, AgentType]] = set()

    def of(self, shapes: Iterable[AgentType]) -> AgentType:
        """Intersect types.

        When no value can exist, the first type stays: the validator rejects every value anyway.
        """
        first, *others = shapes
        for other in others:
            first = self._both(first, other) or first
        return first

    def _both(  # noqa: PLR0911 - one for each pair of types
        self, one: AgentType, other: AgentType
    ) -> AgentType | None:
        if one is ScalarType.ANY or one == other:
            return other
        match one, other:
            case (_, ScalarType.ANY):
                return one
            case (UnionType(), _):
                return self._any(one, other)
            case (_, UnionType()):
                return self._any(other, one)
            case (DefinitionRef() | ProtocolRef(), _) | (_, DefinitionRef() | ProtocolRef()):
                return self._by_name(one, other)
            case (EnumType(values), EnumType(words)):
                if kept := tuple(each for each in values if each in words):
                    return EnumType(kept)
                return None
            case (ArrayType() | TupleType(), ArrayType() | TupleType()):
                return self._lists(one, other)
            case (MapType(value), MapType(more)):
                return MapType(self.of((value, more)))
            case _:
                return next(
                    (
                        narrow
                        for narrow, wide in ((one, other), (other, one))
                        if _is_narrower(narrow, wide)
                    ),
                    None,
                )

    def _any(self, union: UnionType, other: AgentType) -> AgentType | None:
        both = (self._both(each, other) for each in union.options)
        kept = [each for each in both if each is not None]
        made = make_union(kept) if kept else None
        if isinstance(made, UnionType):
            return replace(
                made, branches=tuple(each for each in union.branches if each[0] in made.options)
            )
        return made

    def _by_name(self, one: AgentType, other: AgentType) -> AgentType | None:
        """Intersect where at least one type is named: an alias is what it names; two classes have
        no common class, so the first stays.
        """
        reference, plain = (
            (one, other) if isinstance(one, DefinitionRef | ProtocolRef) else (other, one)
        )
        definition = self._resolve(reference.name) if isinstance(reference, DefinitionRef) else None
        if isinstance(definition, AliasType) and (reference, plain) not in self._open:
            # An alias may lead back to itself.
            self._open.add((reference, plain))
            found = self._both(definition.shape, plain)
            self._open.remove((reference, plain))
            if found == definition.shape:
                return reference
            return found
        if isinstance(plain, DefinitionRef) and isinstance(self._resolve(plain.name), AliasType):
            return self._both(plain, reference)
        if (
            definition is None
            or isinstance(plain, DefinitionRef | MapType | ProtocolRef)
            or plain is ScalarType.OBJECT
        ):
            return reference
        return None

    def _lists(self, one: ArrayType | TupleType, other: ArrayType | TupleType) -> AgentType | None:
        if isinstance(one, ArrayType):
            if isinstance(other, ArrayType):
                return ArrayType(self.of((one.item, other.item)))
            return self._lists(other, one)
        return self._tuples(
            one, TupleType((), rest=other.item) if isinstance(other, ArrayType) else other
        )

    def _tuples(self, one: TupleType, other: TupleType) -> AgentType | None:
        items: list[AgentType] = []
        for index in range(max(len(one.items), len(other.items))):
            both = one.get_item(index), other.get_item(index)
            if both[0] is None or both[1] is None:
                break
            items.append(self.of((both[0], both[1])))
        least = max(one.least, other.least)
        rest = None if one.rest is None or other.rest is None else self.of((one.rest, other.rest))
        if items and least <= len(items):
            return TupleType(tuple(items), len(items) - least, rest)
        return None


def _is_narrower(narrow: AgentType, wide: AgentType) -> bool:
    """Check that every value of a type without named parts is one of another."""
    match wide:
        case ScalarType.NUMBER:
            return narrow is ScalarType.INTEGER
        case ScalarType.STRING:
            return isinstance(narrow, EnumType) or narrow in TEXT_FORMATS
        case ScalarType.OBJECT:
            return isinstance(narrow, MapType)
        case ScalarType():
            return wide in TEXT_FORMATS and isinstance(narrow, EnumType)
        case _:
            return False


def map_parts(shape: AgentType, convert: Callable[[AgentType], AgentType]) -> AgentType:
    """Convert the parts of a type."""
    match shape:
        case ArrayType(item):
            return ArrayType(convert(item))
        case MapType(value):
            return MapType(convert(value))
        case TupleType(items, optional, rest):
            return TupleType(
                tuple(map(convert, items)), optional, None if rest is None else convert(rest)
            )
        case UnionType(options):
            branches = tuple((convert(branch), places) for branch, places in shape.branches)
            return UnionType(tuple(map(convert, options)), branches, shape.is_open)
        case _:
            return shape


def is_nullable(shape: AgentType, types: Mapping[str, Definition]) -> bool:
    """Check that null is a value of a type, also through the types that it names."""
    return not {ScalarType.NULL, ScalarType.ANY}.isdisjoint(iter_parts(shape, types))


def iter_parts(shape: AgentType, types: Mapping[str, Definition]) -> Iterator[AgentType]:
    """Yield every type that a value may have, through named types; each once, cycles included."""
    waiting = [shape]
    seen = set[AgentType]()
    while waiting:
        each = waiting.pop()
        if each in seen:
            continue
        seen.add(each)
        yield each
        match each:
            case DefinitionRef(name) if isinstance(target := types[name], AliasType):
                waiting.append(target.shape)
            case UnionType(options):
                waiting.extend(options)
            case _:
                pass


def is_literal_default(  # noqa: PLR0911 - one for each kind of type
    shape: AgentType, default: Json
) -> bool:
    """Check that a default is a literal of Python that needs no conversion."""
    match shape:
        case EnumType(values):
            return default in values
        case UnionType(options):
            return any(is_literal_default(each, default) for each in options)
        case ScalarType.BOOLEAN:
            return isinstance(default, bool)
        case ScalarType.INTEGER:
            return isinstance(default, int) and not isinstance(default, bool)
        case ScalarType.NUMBER:
            return isinstance(default, int | float) and not isinstance(default, bool)
        case ScalarType.STRING:
            return isinstance(default, str)
        case _:
            return False
