"""Documents of every type, as a good writer sends them, for hypothesis: made from the intermediate
form and the limits in the schemas.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from a2a_gen.ir.build import build_contract
from a2a_gen.ir.model import (
    Alias,
    Constant,
    Contract,
    Enumeration,
    Field,
    ListOf,
    MapOf,
    OneOf,
    Primitive,
    Record,
    Ref,
    TypeExpr,
)
from a2a_gen.source.documents import Document, load_documents
from a2a_gen.source.references import resolve_reference

ROOT = Path(__file__).parents[2]
SCHEMA = ROOT / "schema"

# Without slashes: the ProtoJSON form of 0.3 names things by paths that ids are part of.
CHARACTERS = st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="/")
TEXT = st.text(CHARACTERS, max_size=5)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)
TIMES = st.datetimes(datetime(1971, 1, 1), datetime(2999, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - hypothesis takes naive limits


def timestamp(moment: datetime) -> str:
    """Write a point in time as the protocol does."""
    return f"{moment.replace(tzinfo=None).isoformat(timespec='milliseconds')}Z"


PRIMITIVES: Mapping[Primitive, SearchStrategy[object]] = {
    Primitive.STRING: TEXT,
    Primitive.INTEGER: st.integers(-(2**31), 2**31 - 1),
    Primitive.NUMBER: st.floats(allow_nan=False, allow_infinity=False, width=32),
    Primitive.BOOLEAN: st.booleans(),
    Primitive.NULL: st.none(),
    Primitive.BYTES: st.binary(max_size=5).map(lambda data: base64.b64encode(data).decode()),
    Primitive.TIMESTAMP: TIMES.map(timestamp),
    Primitive.OBJECT: st.dictionaries(TEXT, JSON, max_size=2),
    Primitive.ANY: JSON,
}


@dataclass(frozen=True)
class Documents:
    """Makes documents of the types of a contract."""

    root: Path = SCHEMA
    _made: dict[tuple[str, str], SearchStrategy[object]] = field(default_factory=dict, repr=False)

    @cached_property
    def files(self) -> Mapping[str, Document]:
        """The schemas as they stand."""
        return load_documents(self.root)

    @cached_property
    def contract(self) -> Contract:
        """The contract."""
        return build_contract(self.files)

    def of(self, dialect: str, name: str) -> SearchStrategy[object]:
        """Make documents of one type."""
        key = (dialect, name)
        if key not in self._made:
            self._made[key] = self._of(dialect, name)
        return self._made[key]

    def _of(self, dialect: str, name: str) -> SearchStrategy[object]:
        definition = self.contract.type(dialect, name)
        match definition:
            case Record():
                return self._record(dialect, definition)
            case Enumeration():
                return st.sampled_from([value.wire for value in definition.values])
            case Alias():
                return self._value(dialect, definition.type, {})
            case None:
                raise LookupError(f"{dialect} has no type {name}")

    def _record(self, dialect: str, record: Record) -> SearchStrategy[object]:
        values = {
            member.wire: self._value(dialect, member.type, self._limits(member))
            for member in record.fields
        }
        required = {member.wire: values[member.wire] for member in record.fields if member.required}
        chosen = record.choice.members if record.choice else ()
        optional = {
            name: value
            for name, value in values.items()
            if name not in required and name not in chosen
        }
        plain = st.fixed_dictionaries(required, optional=optional)
        if not chosen:
            return plain
        choice = st.one_of([st.fixed_dictionaries({name: values[name]}) for name in chosen])
        return st.builds(lambda first, second: {**first, **second}, plain, choice)

    def _value(
        self, dialect: str, expression: TypeExpr, limits: Mapping[str, object]
    ) -> SearchStrategy[object]:
        match expression:
            case Primitive():
                return _within(PRIMITIVES[expression], expression, limits)
            case Ref(name):
                return self.of(dialect, name)  # no type contains itself
            case ListOf(item):
                return st.lists(
                    self._value(dialect, item, {}),
                    min_size=_number(limits, "minItems", 0),
                    max_size=_number(limits, "maxItems", 2),
                )
            case MapOf(value):
                return st.dictionaries(TEXT, self._value(dialect, value, {}), max_size=2)
            case OneOf(options):
                return st.one_of([self._value(dialect, option, {}) for option in options])
            case Constant(value):
                return st.just(value)

    def _limits(self, member: Field) -> Mapping[str, object]:
        """Find the schema of a member, or that of the scalar that it names, where its limits
        stand.
        """
        node = self._schema(member.place.file, member.place.pointer)
        if isinstance(member.type, Primitive) and isinstance(text := node.get("$ref"), str):
            meant = resolve_reference(self.files[member.place.file], text)
            return self._schema(meant.file, meant.pointer)
        return node

    def _schema(self, file: str, pointer: str) -> Mapping[str, object]:
        node: object = self.files[file].data
        for step in pointer.split("/")[1:]:
            node = (
                node.get(step.replace("~1", "/").replace("~0", "~"))
                if isinstance(node, dict)
                else None
            )
        return node if isinstance(node, dict) else {}


def _within(
    values: SearchStrategy[object], primitive: Primitive, limits: Mapping[str, object]
) -> SearchStrategy[object]:
    pattern = limits.get("pattern")
    if isinstance(pattern, str):
        fitting = st.from_regex(pattern, fullmatch=True)
        return fitting if "/" in pattern else fitting.filter(lambda text: "/" not in text)
    if primitive is Primitive.INTEGER:
        return st.integers(
            _number(limits, "minimum", -(2**31)), _number(limits, "maximum", 2**31 - 1)
        )
    if "minLength" in limits:
        return st.text(CHARACTERS, min_size=_number(limits, "minLength", 0), max_size=5)
    return values


def _number(limits: Mapping[str, object], name: str, default: int) -> int:
    value = limits.get(name, default)
    return value if isinstance(value, int) else default
