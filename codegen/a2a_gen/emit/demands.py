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


def demands(contract: Contract, dialect: str, request: str) -> tuple[Demanded, ...]:
    """List what a request of a dialect must have, place by place; a place inside itself is not entered again."""
    return tuple(_walk(contract, dialect, request, (), ()))


def _walk(contract: Contract, dialect: str, name: str, way: tuple[Field, ...], seen: tuple[str, ...]) -> Iterator[Demanded]:
    record = contract.type(dialect, name)
    if not isinstance(record, Record) or name in seen:
        return
    required = tuple(field.python for field in record.fields if field.required and _may_be_empty(contract, dialect, field.type))
    known = tuple(field.python for field in record.fields if _is_open(contract, dialect, field.type))
    if required or known:
        yield Demanded(tuple(field.python for field in way), tuple(field.wire for field in way), required, known)
    for field in record.fields:
        if isinstance(inner := _innermost(field.type), Ref):
            yield from _walk(contract, dialect, inner.name, (*way, field), (*seen, name))


def _may_be_empty(contract: Contract, dialect: str, of: TypeExpr) -> bool:
    return of in _CAN_BE_EMPTY or isinstance(of, ListOf) or _is_open(contract, dialect, of)


def _is_open(contract: Contract, dialect: str, of: TypeExpr) -> bool:
    named = contract.type(dialect, of.name) if isinstance(of, Ref) else None
    return isinstance(named, Enumeration) and named.is_open


def _innermost(of: TypeExpr) -> TypeExpr:
    while isinstance(of, ListOf | MapOf):
        of = of.item if isinstance(of, ListOf) else of.value
    return of
