"""Bindings: one module per dialect, and the JSON-RPC methods of all dialects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from a2a_gen.emit import routes
from a2a_gen.emit.call_styles import CallStyle, call_styles
from a2a_gen.emit.render import Code, literal, render
from a2a_gen.emit.translate.expressions import function_name
from a2a_gen.emit.translate.members import TypePair
from a2a_gen.emit.translate.rules import Direction
from a2a_gen.ir.extension import is_translated
from a2a_gen.ir.model import (
    Contract,
    ContractDialect,
    Enumeration,
    Field,
    ListOf,
    MapOf,
    OperationCall,
    Primitive,
    Record,
    Ref,
    TypeExpr,
)
from a2a_gen.ir.names import field_name

# --- required members, found by walking the type of a request ---

_CAN_BE_EMPTY = (Primitive.STRING, Primitive.BYTES)


@dataclass(frozen=True, slots=True)
class RequiredMembers:
    """The required members of the objects at one place, by Python name; ``wire`` is the same path
    by wire names.
    """

    path: tuple[str, ...]
    wire: tuple[str, ...]
    required: tuple[str, ...]
    known: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Pair:
    """A type of a dialect and the canonical type that it becomes, if known."""

    theirs: str
    ours: str | None


def find_requirements(
    contract: Contract, dialect: str, request: str, ours: str
) -> tuple[RequiredMembers, ...]:
    """List what a request of a dialect must have, place by place; recursive places are visited
    once.
    """
    return tuple(_walk(contract, dialect, _Pair(request, ours), (), ()))


def _walk(
    contract: Contract, dialect: str, pair: _Pair, way: tuple[Field, ...], seen: tuple[str, ...]
) -> Iterator[RequiredMembers]:
    record = contract.type(dialect, pair.theirs)
    if not isinstance(record, Record) or pair.theirs in seen:
        return
    becomes = {
        field.python: tuple(_find_translation(contract, dialect, pair, field))
        for field in record.fields
    }
    required = tuple(
        field.python
        for field in record.fields
        if _is_required(field, becomes[field.python])
        and _may_be_empty(contract, dialect, field.type)
    )
    known = tuple(
        field.python for field in record.fields if _is_open(contract, dialect, field.type)
    )
    if required or known:
        yield RequiredMembers(
            tuple(field.python for field in way),
            tuple(field.wire for field in way),
            required,
            known,
        )
    for field in record.fields:
        if isinstance(inner := _innermost(field.type), Ref):
            canonical = next((_innermost(each.type) for each in becomes[field.python]), None)
            next_pair = _Pair(inner.name, canonical.name if isinstance(canonical, Ref) else None)
            yield from _walk(contract, dialect, next_pair, (*way, field), (*seen, pair.theirs))


def _find_translation(
    contract: Contract, dialect: str, pair: _Pair, field: Field
) -> Iterator[Field]:
    """List the canonical members that a member becomes, without those inside other members."""
    record = contract.type(contract.canonical, pair.ours or "")
    table = contract.dialect(dialect)
    names: tuple[str, ...] = (field.wire,)
    for translation in table.translations if table else ():
        if (translation.theirs, translation.ours) == (pair.theirs, pair.ours):
            for rule in translation.rules:
                if rule.theirs == (field.wire,):
                    names = rule.ours
    if isinstance(record, Record):
        yield from filter(None, map(record.field, names))


def _is_required(field: Field, becomes: tuple[Field, ...]) -> bool:
    """Check that a member is required; ProtoJSON cannot declare it, so the canonical type
    decides.
    """
    return field.required or (field.proto is not None and any(each.required for each in becomes))


def _may_be_empty(contract: Contract, dialect: str, of: TypeExpr) -> bool:
    definition = contract.type(dialect, of.name) if isinstance(of, Ref) else None
    has_zero = isinstance(definition, Enumeration) and any(
        value.number == 0 for value in definition.values
    )
    return of in _CAN_BE_EMPTY or isinstance(of, ListOf) or has_zero


def _is_open(contract: Contract, dialect: str, of: TypeExpr) -> bool:
    definition = contract.type(dialect, of.name) if isinstance(of, Ref) else None
    return isinstance(definition, Enumeration) and definition.is_open


def _innermost(of: TypeExpr) -> TypeExpr:
    while isinstance(of, ListOf | MapOf):
        of = of.item if isinstance(of, ListOf) else of.value
    return of


_ENVELOPE = "JSONRPCRequest"


def emit(contract: Contract) -> dict[str, bytes]:
    """Emit the bindings, the methods and the routes."""
    modules = {
        f"bindings/{dialect.name}.py": _module(contract, dialect) for dialect in contract.dialects
    }
    methods = [dialect.name for dialect in contract.dialects if dialect.facts["jsonrpc"]]
    return {
        "bindings/__init__.py": render("bindings_package.py.jinja", sources=("operations.json",)),
        "methods.py": render("methods.py.jinja", sources=("operations.json",), dialects=methods),
        "paths.py": render(
            "paths.py.jinja",
            sources=("operations.json", "dialects.json"),
            surfaces=routes.build_route_tables(contract),
        ),
        **modules,
        **routes.emit(contract),
    }


def _module(contract: Contract, dialect: ContractDialect) -> bytes:
    carried: list[CallStyle] = []
    methods: list[tuple[str, str]] = []
    for operation, call in contract.calls(dialect.name):
        carried += call_styles(call, operation)
        methods += [(method, operation.python.upper()) for method in _methods(call)]
    forgives = _is_lenient_envelope(contract, dialect.name)
    wanted: dict[str, tuple[RequiredMembers, ...]] = {}
    if not forgives:
        requests = {way.request: way.operation.request for way in carried if way.request}
        for name, ours in requests.items():
            found = find_requirements(contract, dialect.name, name, ours)
            if found:
                wanted[name] = found
    return render(
        "bindings.py.jinja",
        sources=("operations.json", "dialects.json"),
        title=dialect.title,
        dialect=dialect.name,
        canonical=contract.canonical,
        is_canonical=dialect.name == contract.canonical,
        is_translated=is_translated(contract, dialect.name),
        forgives=forgives,
        bindings=[_binding(contract, dialect.name, way, wanted) for way in carried],
        demands=[
            {"constant": _requirements_constant(name), "rows": list(map(_emit_requirement, found))}
            for name, found in wanted.items()
        ],
        methods=methods,
    )


def _is_lenient_envelope(contract: Contract, dialect: str) -> bool:
    """Check that the envelope of a dialect may be incomplete; such a dialect also has no
    requirements beyond its models.
    """
    envelope = contract.type(dialect, _ENVELOPE)
    return isinstance(envelope, Record) and any(field.has_read_default for field in envelope.fields)


def _binding(
    contract: Contract, dialect: str, way: CallStyle, requirements: Mapping[str, object]
) -> Mapping[str, object]:
    request = _request(contract, dialect, way)
    answer = f"ours.{way.operation.response}" if way.operation.response else "Empty"
    return {
        "constant": way.constant,
        "type": Code(f"Binding[{request}, ours.{way.operation.request}, {answer}]"),
        "request": request,
        "ours": way.operation.request,
        "operation": way.operation.python.upper(),
        "read": _emit_translate(contract, dialect, way),
        "write": _emit_serialize(contract, dialect, way),
        "demands": _requirements_constant(way.request) if way.request in requirements else None,
        "ask": _emit_encode_request(contract, dialect, way),
        "hear": _emit_response(contract, dialect, way),
        "misplaced": tuple((name, tuple(place.split("."))) for name, place in way.misplaced),
    }


def _request(contract: Contract, dialect: str, way: CallStyle) -> str:
    side = "ours" if dialect == contract.canonical else "theirs"
    if way.request is None:
        return "Empty"
    return f"{side}.{way.request}"


def _emit_translate(contract: Contract, dialect: str, way: CallStyle) -> Code:
    if way.request is None:
        return Code(f"build_default(ours.{way.operation.request})")
    if not is_translated(contract, dialect):
        return Code("identity")
    return _emit_read(way.request, way.operation.request)


def _emit_serialize(contract: Contract, dialect: str, way: CallStyle) -> Code:
    if way.result is None or way.operation.response is None:
        return Code("None")
    if not is_translated(contract, dialect):
        return Code("serialize_as_is")
    written = function_name(TypePair(way.result, way.operation.response), Direction.WRITE)
    return Code(f"serialize_with(translate.{written})")


def _emit_encode_request(contract: Contract, dialect: str, way: CallStyle) -> Code | None:
    """Return the function that writes a request; canonical requests, those that extend them, and
    empty ones need none.
    """
    if way.request is None:
        return Code("encode_empty")
    if not is_translated(contract, dialect):
        return None
    written = function_name(TypePair(way.request, way.operation.request), Direction.WRITE)
    return Code(f"encode_with(translate.{written})")


def _emit_response(contract: Contract, dialect: str, way: CallStyle) -> Code | None:
    if way.result is None or way.operation.response is None:
        return None
    if not is_translated(contract, dialect):
        return Code(
            f"ResponseReader({'ours' if dialect == contract.canonical else 'theirs'}.{way.result})"
        )
    return Code(
        f"ResponseReader(theirs.{way.result}, {_emit_read(way.result, way.operation.response)})"
    )


def _emit_read(theirs: str, ours: str) -> Code:
    return Code(
        f"read_with(ours.{ours}, translate.{function_name(TypePair(theirs, ours), Direction.READ)})"
    )


def _requirements_constant(request: str | None) -> str:
    return f"_{field_name(request or '').upper()}"


def _emit_requirement(found: RequiredMembers) -> Code:
    sets = [
        f"{name}=frozenset({{{', '.join(map(repr, members))}}})"
        for name, members in (("required", found.required), ("known", found.known))
        if members
    ]
    return Code(
        ", ".join((f"Requirement({literal(found.path)}, {literal(found.wire)}", *sets)) + ")"
    )


def _methods(call: OperationCall) -> Iterator[str]:
    if call.method is not None:
        yield from (call.method, *call.aliases)
