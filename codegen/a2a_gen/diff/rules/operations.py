"""Operations, errors and states: the tables of a contract."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol, TypeVar

from a2a_gen.diff.change import SchemaChange
from a2a_gen.diff.rules.rule import ITSELF, ChangeLevels, ChangeRule, define_rule
from a2a_gen.ir.model import Contract, ErrorDefinition, OperationCall, OperationRow, State
from a2a_gen.problems import Place

OPERATION_REMOVED = define_rule(
    "A2A002 operation-removed",
    "operation narrows E E E",
    "{name} was removed",
    mirror="operation-added",
)
OPERATION_ADDED = define_rule(
    "A2A009 operation-added", "operation none I I I", "{name} was added", mirror="operation-removed"
)
PATH_CHANGED = define_rule(
    "A2A003 operation-path-changed",
    "operation both E E E",
    "the path of {name} changed from {old} to {new}",
    mirror=ITSELF,
)
METHOD_CHANGED = define_rule(
    "A2A004 method-name-changed",
    "operation both E E E",
    "the method of {name} changed from {old} to {new}",
    mirror=ITSELF,
)
STREAMING_CHANGED = define_rule(
    "A2A005 streaming-changed", "operation both E E E", "{name} {new}", mirror=ITSELF
)
STATUS_CHANGED = define_rule(
    "A2A006 status-code-changed",
    "operation both E E E",
    "{name} changed from {old} to {new}",
    mirror=ITSELF,
)
REQUEST_REPLACED = define_rule(
    "A2A007 request-type-replaced",
    "operation both E - E",
    "{name} takes {new} instead of {old}",
    mirror=ITSELF,
)
RESPONSE_REPLACED = define_rule(
    "A2A008 response-type-replaced",
    "operation both - E E",
    "{name} returns {new} instead of {old}",
    mirror=ITSELF,
)
ERROR_REMOVED = define_rule(
    "A2A014 error-removed",
    "operation none - W E",
    "the error {name} was removed",
    mirror="error-added",
)
ERROR_ADDED = define_rule(
    "A2A015 error-added",
    "operation none - I I",
    "the error {name} was added",
    mirror="error-removed",
)
STEP_REMOVED = define_rule(
    "A2A016 state-step-removed",
    "state narrows W I I",
    "a task in {old} can no longer become {new}",
    mirror="state-step-added",
)
STEP_ADDED = define_rule(
    "A2A017 state-step-added",
    "state widens I W I",
    "a task in {old} can now become {new}",
    mirror="state-step-removed",
)
STATE_CHANGED = define_rule(
    "A2A018 state-kind-changed",
    "state both E E E",
    "the state {name} changed from {old} to {new}",
    mirror=ITSELF,
)

RULES = (
    OPERATION_REMOVED,
    OPERATION_ADDED,
    PATH_CHANGED,
    METHOD_CHANGED,
    STREAMING_CHANGED,
    STATUS_CHANGED,
    REQUEST_REPLACED,
    RESPONSE_REPLACED,
    ERROR_REMOVED,
    ERROR_ADDED,
    STEP_REMOVED,
    STEP_ADDED,
    STATE_CHANGED,
)

_COLUMNS = ("code", "http", "grpc", "reason", "jsonrpc_status")


class _TableRow(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def place(self) -> Place: ...


_R = TypeVar("_R", bound=_TableRow)


def compare_tables(
    old: Contract, new: Contract, is_same: Callable[[str, str, str], bool]
) -> Iterator[SchemaChange]:
    """Compare the tables of two contracts; ``is_same`` tests whether two types of a dialect are
    equal.
    """
    yield from _compare_rows(old.operations, new.operations, (OPERATION_REMOVED, OPERATION_ADDED))
    for before, after in _pair_rows(old.operations, new.operations):
        yield from _compare_operation(before, after, is_same)
    yield from _compare_rows(old.errors, new.errors, (ERROR_REMOVED, ERROR_ADDED))
    for was, error in _pair_rows(old.errors, new.errors):
        yield from _compare_error(was, error)
    for earlier, state in _pair_rows(old.states, new.states):
        yield from _compare_state(earlier, state)


def _compare_operation(
    old: OperationRow, new: OperationRow, is_same: Callable[[str, str, str], bool]
) -> Iterator[SchemaChange]:
    if old.streams != new.streams:
        yield _build_change(
            STREAMING_CHANGED,
            old,
            new,
            name=new.name,
            new="streams now" if new.streams else "no longer streams",
        )
    for call in old.calls:
        other = new.call(call.dialect)
        label = f"{new.name} in {call.dialect}"
        if other is None:
            yield _build_change(OPERATION_REMOVED, old, new, name=label)
        else:
            yield from _compare_call(label, call, other, is_same)
    for call in new.calls:
        if old.call(call.dialect) is None:
            yield _build_change(OPERATION_ADDED, old, new, name=f"{new.name} in {call.dialect}")


def _compare_call(
    label: str, old: OperationCall, new: OperationCall, is_same: Callable[[str, str, str], bool]
) -> Iterator[SchemaChange]:
    places = ((old.place.file, old.place.pointer), (new.place.file, new.place.pointer))
    spoken = {new.method, *new.aliases}
    for method in (each for each in (old.method, *old.aliases) if each and each not in spoken):
        yield SchemaChange(
            METHOD_CHANGED,
            *places,
            _build_arguments(name=label, old=method, new=_or_nothing(new.method)),
        )
    if old.grpc and old.grpc != new.grpc:
        yield SchemaChange(
            METHOD_CHANGED,
            *places,
            _build_arguments(name=label, old=old.grpc, new=_or_nothing(new.grpc)),
        )
    routes = {
        (path.method, path.segments, path.verb): f"{path.method} {path.path}" for path in old.http
    }
    routes_after = {
        (path.method, path.segments, path.verb): f"{path.method} {path.path}" for path in new.http
    }
    for route in routes.keys() - routes_after.keys():
        yield SchemaChange(
            PATH_CHANGED,
            *places,
            _build_arguments(
                name=label, old=routes[route], new=", ".join(routes_after.values()) or "no path"
            ),
        )
    for found, before, after in (
        (REQUEST_REPLACED, old.request, new.request),
        (RESPONSE_REPLACED, old.result, new.result),
    ):
        if before != after and not (before and after and is_same(old.dialect, before, after)):
            yield SchemaChange(
                found,
                *places,
                _build_arguments(name=label, old=_or_nothing(before), new=_or_nothing(after)),
            )


def _compare_error(old: ErrorDefinition, new: ErrorDefinition) -> Iterator[SchemaChange]:
    for dialect, columns in old.columns.items():
        for column in _COLUMNS:
            before = columns.get(column)
            after = new.columns.get(dialect, {}).get(column)
            if before is not None and before != after and dialect in new.columns:
                yield _build_change(
                    STATUS_CHANGED,
                    old,
                    new,
                    name=f"{column} of {new.name} in {dialect}",
                    old=str(before),
                    new=str(after),
                )


def _compare_state(old: State, new: State) -> Iterator[SchemaChange]:
    if old.kind != new.kind:
        yield _build_change(STATE_CHANGED, old, new, name=new.name, old=old.kind, new=new.kind)
    for removed in sorted(set(old.next) - set(new.next)):
        yield _build_change(STEP_REMOVED, old, new, old=new.name, new=removed)
    for added in sorted(set(new.next) - set(old.next)):
        yield _build_change(STEP_ADDED, old, new, old=new.name, new=added)
    for fact, label_text in (
        ("accepts_messages", "open to messages"),
        ("cancelable", "cancelable"),
    ):
        before = fact in _list_flags(old)
        if before != (fact in _list_flags(new)):
            texts = (label_text, f"not {label_text}")
            levels = None
            if not before:
                texts = (texts[1], texts[0])
                levels = ChangeLevels.parse("I W I")
            yield _build_change(
                STATE_CHANGED, old, new, name=new.name, old=texts[0], new=texts[1], levels=levels
            )


def _list_flags(state: State) -> set[str]:
    return {
        name
        for name, value in (
            ("accepts_messages", state.accepts_messages),
            ("cancelable", state.cancelable),
        )
        if value
    }


def _compare_rows(
    old: Sequence[_R], new: Sequence[_R], rules: tuple[ChangeRule, ChangeRule]
) -> Iterator[SchemaChange]:
    before = _index_by_name(old)
    after = _index_by_name(new)
    ends = ("", "")
    for name in before.keys() - after.keys():
        row = before[name]
        yield SchemaChange(
            rules[0],
            (row.place.file, row.place.pointer),
            (row.place.file, row.place.pointer.rpartition("/")[0]),
            _build_arguments(name=name),
        )
    for name in after.keys() - before.keys():
        row = after[name]
        yield SchemaChange(
            rules[1], ends, (row.place.file, row.place.pointer), _build_arguments(name=name)
        )


def _pair_rows(old: Sequence[_R], new: Sequence[_R]) -> Iterable[tuple[_R, _R]]:
    before = _index_by_name(old)
    return ((before[name], row) for name, row in _index_by_name(new).items() if name in before)


def _index_by_name(rows: Sequence[_R]) -> Mapping[str, _R]:
    return {row.name: row for row in rows}


def _build_change(
    rule: ChangeRule,
    old: _TableRow,
    new: _TableRow,
    /,
    *,
    levels: ChangeLevels | None = None,
    **arguments: str,
) -> SchemaChange:
    return SchemaChange(
        rule,
        (old.place.file, old.place.pointer),
        (new.place.file, new.place.pointer),
        _build_arguments(**arguments),
        level_override=levels,
    )


def _build_arguments(**arguments: str) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(arguments.items()))


def _or_nothing(text: str | None) -> str:
    return text or "nothing"
