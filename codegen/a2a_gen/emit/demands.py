"""What a request must have beyond what its model forgives, found by walking the request's type."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from a2a_gen.ir.model import Contract, Enumeration, Field, ListOf, MapOf, Primitive, Record, Ref, TypeExpr

_CAN_BE_EMPTY = (Primitive.STRING, Primitive.BYTES)


@dataclass(frozen=True, slots=True)
class Demanded:
    """What the objects at one place must have, by names in Python; ``wire`` is the same way by names on the wire."""

    path: tuple[str, ...]
    wire: tuple[str, ...]
    required: tuple[str, ...]
    known: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Pair:
    """A type of a dialect beside the canonical type that it becomes, as far as that is known."""

    theirs: str
    ours: str | None


def demands(contract: Contract, dialect: str, request: str, ours: str) -> tuple[Demanded, ...]:
    """List what a request of a dialect must have, place by place; a place inside itself is not entered again."""
    return tuple(_walk(contract, dialect, _Pair(request, ours), (), ()))


def _walk(contract: Contract, dialect: str, pair: _Pair, way: tuple[Field, ...], seen: tuple[str, ...]) -> Iterator[Demanded]:
    record = contract.type(dialect, pair.theirs)
    if not isinstance(record, Record) or pair.theirs in seen:
        return
    becomes = {field.python: tuple(_becomes(contract, dialect, pair, field)) for field in record.fields}
    required = tuple(
        field.python for field in record.fields if _is_required(field, becomes[field.python]) and _may_be_empty(contract, dialect, field.type)
    )
    known = tuple(field.python for field in record.fields if _is_open(contract, dialect, field.type))
    if required or known:
        yield Demanded(tuple(field.python for field in way), tuple(field.wire for field in way), required, known)
    for field in record.fields:
        if isinstance(inner := _innermost(field.type), Ref):
            canonical = next((_innermost(each.type) for each in becomes[field.python]), None)
            next_pair = _Pair(inner.name, canonical.name if isinstance(canonical, Ref) else None)
            yield from _walk(contract, dialect, next_pair, (*way, field), (*seen, pair.theirs))


def _becomes(contract: Contract, dialect: str, pair: _Pair, field: Field) -> Iterator[Field]:
    """Find the canonical members that a member becomes; those inside other members are not looked for."""
    record = contract.type(contract.canonical, pair.ours or "")
    table = contract.dialect(dialect)
    translations = (each for each in table.translations if (each.theirs, each.ours) == (pair.theirs, pair.ours)) if table else ()
    rules = {rule.theirs: rule.ours for translation in translations for rule in translation.rules}
    if isinstance(record, Record):
        yield from (found for name in rules.get((field.wire,), (field.wire,)) if (found := record.field(name)))


def _is_required(field: Field, becomes: tuple[Field, ...]) -> bool:
    """Say whether a member must be there; ProtoJSON cannot say so, and requires what the canonical type does."""
    return field.required or (field.proto is not None and any(each.required for each in becomes))


def _may_be_empty(contract: Contract, dialect: str, of: TypeExpr) -> bool:
    named = contract.type(dialect, of.name) if isinstance(of, Ref) else None
    has_zero = isinstance(named, Enumeration) and any(value.number == 0 for value in named.values)
    return of in _CAN_BE_EMPTY or isinstance(of, ListOf) or has_zero


def _is_open(contract: Contract, dialect: str, of: TypeExpr) -> bool:
    named = contract.type(dialect, of.name) if isinstance(of, Ref) else None
    return isinstance(named, Enumeration) and named.is_open


def _innermost(of: TypeExpr) -> TypeExpr:
    while isinstance(of, ListOf | MapOf):
        of = of.item if isinstance(of, ListOf) else of.value
    return of
