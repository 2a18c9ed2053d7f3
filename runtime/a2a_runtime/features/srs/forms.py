"""Forms of the apcore SRS: a call becomes the one of 0.3 that it stands for, before it is parsed;
its result gets the members of the SRS.

    body ── rewrite_call ──► body of 0.3, errors, SrsForm
    result of 0.3 ── rewrite_result ──► result of the SRS

The rules are those of ``schema/srs_forms.json``; the functions are pure. A call that none of them
changes stays as it is, to the byte.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from uuid import uuid4

from pydantic_core import from_json, to_json

from a2a_contract.base import Encoded, WireModel
from a2a_contract.binding import AnyBinding
from a2a_contract.json_types import is_json_array, is_json_object
from a2a_contract.methods import METHODS
from a2a_contract.operations import OPERATIONS
from a2a_contract.srs_forms import DIALECT, REQUESTS, RESULTS, RequestRule, ResultRule
from a2a_contract.srs_forms import METHODS as SRS_METHODS
from a2a_contract.v0_3 import ListTasksParams
from a2a_runtime.ports.wire_variant import ReadCall

_OPERATIONS = {method: binding.operation.name for method, binding in METHODS[DIALECT].items()}
_LIST = "[]"
_PAGE_SIZE = ListTasksParams.wire_name("page_size")
_MISSING = object()


@dataclass(slots=True)
class SrsForm:
    """Members beyond 0.3 of a call in a form of the SRS, and of its result."""

    page_size: int | None = None
    """Length of a page, which may be longer than those of 0.3."""
    result: dict[str, str] = field(default_factory=dict[str, str])
    """Members of the result that 0.3 does not have."""

    def bind(self, binding: AnyBinding) -> AnyBinding:
        """Write results with the members of the SRS."""
        rule = find_result_rule(binding.operation.name)
        serialize = binding.serialize
        if rule is None or serialize is None:
            return binding

        def serialize_form(answer: Encoded[WireModel]) -> bytes:
            return rewrite_result(rule, self, serialize(answer))

        return replace(binding, serialize=serialize_form)


def rewrite_call(body: bytes) -> ReadCall:
    """Rewrite a call; one that cannot be read is left to its parser."""
    try:
        call: object = from_json(body, allow_inf_nan=False)
    except ValueError:
        return ReadCall(body)
    method = call.get("method") if is_json_object(call) else None
    if not is_json_object(call) or not isinstance(method, str):
        return ReadCall(body)
    form = SrsForm()
    errors = list[tuple[str, str]]()
    params = call.get("params")
    operation = _OPERATIONS.get(method)
    is_changed = False
    if method in SRS_METHODS:
        operation = None
        is_changed = True
        call["method"] = OPERATIONS[SRS_METHODS[method]].calls[DIALECT].method
    for rule in REQUESTS:
        if operation in rule.operations and is_json_object(params):
            for path, found in _find_objects(params, rule.at):
                is_changed = _apply(rule, path, found, form, errors) or is_changed
    if is_changed or errors:
        return ReadCall(to_json(call), form, tuple(errors))
    return ReadCall(body)


def explain_member(binding: AnyBinding, name: str, *, is_call: bool) -> str:
    """Name the switch for a member that calls in these forms have."""
    rules = [
        rule
        for rule in REQUESTS
        if is_call
        and binding.dialect == DIALECT
        and binding.operation.name in rule.operations
        and not rule.at
    ]
    for rule in rules:
        if any(name == each for each, _ in (*rule.move, *rule.limit)):
            return "set srs_forms on the surface to read it"
    return ""


def is_card_call(body: bytes) -> bool:
    """Return whether a call asks for the card of what its caller may see, which every caller may
    do.
    """
    try:
        call: object = from_json(body)
    except ValueError:
        return False
    return is_json_object(call) and call.get("method") in SRS_METHODS


def _find_objects(
    value: object, at: str, path: str = ""
) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield the objects at a place, each with its path."""
    if not at:
        if is_json_object(value):
            yield path and f"{path}.", value
        return
    step, _, rest = at.partition(".")
    name = step.removesuffix(_LIST)
    inner = value.get(name) if is_json_object(value) else None
    path = f"{path}.{name}" if path else name
    if not step.endswith(_LIST):
        yield from _find_objects(inner, rest, path)
    elif is_json_array(inner):
        for index, each in enumerate(inner):
            yield from _find_objects(each, rest, f"{path}[{index}]")


def _apply(
    rule: RequestRule,
    path: str,
    found: dict[str, object],
    form: SrsForm,
    errors: list[tuple[str, str]],
) -> bool:
    """Apply a rule to an object; return whether it has changed."""
    if any(found.get(name) != value for name, value in rule.equals) or (
        rule.if_present and rule.if_present not in found
    ):
        return False
    before = to_json(found)
    for name, place in rule.copy:
        if name in found and _get(found, place) is _MISSING:
            _put(found, place, found[name])
    for name, place in rule.move:
        error = _move(found, name, place, path)
        if error:
            errors.append(error)
    for name in rule.fresh:
        if name not in found:
            found[name] = str(uuid4())
    for name, longest in rule.limit:
        if name in found:
            _take_limit(found, name, longest, form, errors)
    return to_json(found) != before


def _move(found: dict[str, object], name: str, place: str, path: str) -> tuple[str, str] | None:
    """Move a member to its place, or return the error of two different values."""
    if name in found:
        there = _get(found, place)
        if there is not _MISSING and there != found[name]:
            return path + name, f"differs from {path}{place}; keep one of the two"
        if there is not _MISSING or _put(found, place, found[name]):
            del found[name]
    return None


def _take_limit(
    found: dict[str, object], name: str, longest: int, form: SrsForm, errors: list[tuple[str, str]]
) -> None:
    size = found.pop(name)
    if _PAGE_SIZE in found:
        errors.append((name, f"is given beside {_PAGE_SIZE}; keep one of the two"))
    elif isinstance(size, bool) or not isinstance(size, int) or size < 1:
        errors.append((name, "must be a whole number above 0"))
    else:
        form.page_size = min(size, longest)


def _get(found: dict[str, object], place: str) -> object:
    value: object = found
    for step in place.split("."):
        value = value.get(step, _MISSING) if is_json_object(value) else _MISSING
    return value


def _put(found: dict[str, object], place: str, value: object) -> bool:
    """Write a value at a place, and the objects on the way to it; ``False`` if something else is
    there.
    """
    *steps, last = place.split(".")
    inner: object = found
    for step in steps:
        inner = inner.setdefault(step, {}) if is_json_object(inner) else None
    if not is_json_object(inner):
        return False
    inner[last] = value
    return True


def find_result_rule(operation: str) -> ResultRule | None:
    """Find the rule for the results of an operation."""
    return next((rule for rule in RESULTS if operation in rule.operations), None)


def rewrite_result(rule: ResultRule, form: SrsForm, body: bytes) -> bytes:
    """Rewrite the result of an operation."""
    result: object = from_json(body)
    if not is_json_object(result):
        return body
    for name, place in (*rule.copy, *rule.move):
        value = _get(result, name)
        if value is not _MISSING and value:
            _put(result, place, value)
    for name in rule.drop:
        result.pop(name, None)
    return to_json({**dict(rule.set), **result, **form.result})
