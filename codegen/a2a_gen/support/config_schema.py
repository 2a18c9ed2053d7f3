"""Values of an ``a2a.toml`` or of the environment, checked by their schema and described for the
person who sets them. Pure.

The generator and the server apply the same schema and say the same sentences. A condition of the
schema brings its own sentence: its ``description``
is the problem and, after a semicolon, the fix. In a union of tables, the setting that names the
kind of a table chooses the branch.
JSON Schema cannot compare two members, so ``x-a2a-at-least`` does: ``{"member": "lease", "times":
3, "of": "renewal"}``.

Values are not quoted, because one of them may be a secret; only an unknown kind is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, time
from difflib import get_close_matches
from ipaddress import ip_network
from itertools import chain
from typing import Final

import jsonschema_rs
from jsonschema_rs import ValidationErrorKind as Kind

from .json_types import is_json_array, is_json_object
from .project_rules import RuleViolation

_TYPES: Final[Mapping[str, tuple[str, str]]] = {
    "string": ("not a text", "write it in quotes"),
    "integer": ("not a whole number", "write a whole number, without quotes"),
    "number": ("not a number", "write a number, without quotes"),
    "boolean": ("neither true nor false", "write true or false, without quotes"),
    "array": ("not a list", "write a list in brackets"),
    "object": ("not a table", "write it as a table"),
}
_EXAMPLES: Final[Mapping[str, str]] = {
    "string": '"…"',
    "integer": "1",
    "number": "1.5",
    "boolean": "true",
    "array": "[…]",
    "object": "{…}",
}
_BOUNDS: Final[Mapping[str, str]] = {
    "minimum": "use {} or more",
    "maximum": "use {} or less",
    "exclusiveMinimum": "use more than {}",
    "minLength": "write at least {} characters",
    "maxLength": "write at most {} characters",
    "minItems": "list at least {}",
    "minProperties": "add at least {}",
    "maxProperties": "leave at most {}",
    "uniqueItems": "remove the repetition",
}


class _AtLeast:
    """The keyword ``x-a2a-at-least``: one number is a multiple of another, or more."""

    def __init__(
        self, parent_schema: object, value: Mapping[str, str | int], schema_path: object
    ) -> None:
        del parent_schema, schema_path
        self._member, self._times, self._of = (
            str(value["member"]),
            int(value["times"]),
            str(value["of"]),
        )

    def validate(self, instance: object) -> None:
        """Compare the members, if both are numbers."""
        table = instance if is_json_object(instance) else {}
        member = table.get(self._member)
        of = table.get(self._of)
        if (
            isinstance(member, int | float)
            and isinstance(of, int | float)
            and member < self._times * of
        ):
            raise ValueError(f"{self._member}: less than {self._times} times {self._of}")


def _is_network(text: str) -> bool:
    try:
        ip_network(text)
    except ValueError:
        return False
    return True


_UNKNOWN: Final = "unknown setting"
_MISSING: Final = "missing"
_KEYWORDS: Final[dict[str, type[jsonschema_rs.KeywordValidator]]] = {"x-a2a-at-least": _AtLeast}
_FORMATS: Final = {"ip-network": _is_network}


def check_values(data: object, schema: Mapping[str, object]) -> Iterator[RuleViolation]:
    """Report every setting that the schema refuses; one that is missing because another name was
    meant for it is not reported twice.
    """
    validator = jsonschema_rs.validator_for(
        dict(schema),
        mask="the value",
        offline=True,
        formats=_FORMATS,
        validate_formats=True,
        keywords=_KEYWORDS,
    )
    found: list[RuleViolation] = []
    plain = _quote_dates(data, (), found)
    for error in validator.iter_errors(plain):
        found += _describe(error, schema, plain)
    meant = {(each.path[:-1], each.cure) for each in found if each.text == _UNKNOWN}
    yield from (
        each
        for each in found
        if each.text != _MISSING or (each.path[:-1], _did_you_mean(each.path[-1])) not in meant
    )


def _quote_dates(value: object, path: tuple[str | int, ...], found: list[RuleViolation]) -> object:
    """Replace dates and times, which TOML has and JSON has not, by their texts, and report each."""
    if isinstance(value, date | time):
        found.append(RuleViolation(path, "a date or time, not a text", "write it in quotes"))
        return value.isoformat()
    if is_json_object(value):
        return {name: _quote_dates(each, (*path, name), found) for name, each in value.items()}
    if is_json_array(value):
        return [_quote_dates(each, (*path, index), found) for index, each in enumerate(value)]
    return value


def _describe(
    error: jsonschema_rs.ValidationError, schema: Mapping[str, object], data: object
) -> Iterator[RuleViolation]:
    path = tuple(error.instance_path)
    holder = _follow(schema, error.schema_path[:-1])
    match error.kind:
        case (
            Kind.AdditionalProperties(unexpected=names)
            | Kind.UnevaluatedProperties(unexpected=names)
        ):
            for name in names:
                yield RuleViolation(
                    (*path, name), _UNKNOWN, _suggest(name, [*_properties(holder)], "remove it")
                )
        case Kind.Required(property=name):
            yield RuleViolation(
                (*path, name), _MISSING, _add(name, _resolve(schema, _properties(holder).get(name)))
            )
        case Kind.PropertyNames(error=inner):
            options = inner.kind.options if isinstance(inner.kind, Kind.Enum) else []
            yield RuleViolation(
                (*path, str(inner.instance)),
                "unknown name" if options else "invalid name",
                _suggest("", options, inner.message),
            )
        case Kind.Type(types=[kind, *_]):
            yield RuleViolation(path, *_describe_type(_follow(data, path), kind))
        case Kind.Enum(options=options):
            yield RuleViolation(path, "unknown value", f"use one of {', '.join(map(str, options))}")
        case Kind.AnyOf(context=branches):
            yield from _describe_union(error, branches, schema, data)
        case _:
            yield RuleViolation(path, *_describe_condition(error, holder))


def _describe_type(value: object, wanted: str) -> tuple[str, str]:
    """Say what is there, what should be, and how that is written."""
    text, cure = _TYPES.get(wanted, ("of the wrong type", f"write one of {wanted}"))
    return f"{_name_type(value)}, {text}", cure


def _name_type(value: object) -> str:
    """Name what is there without its text."""
    match value:
        case bool():
            return str(value).lower()
        case int():
            return "a whole number"
        case float():
            return "a number"
        case str():
            return "a text"
        case None:
            return "null"
        case _:
            return "a list" if is_json_array(value) else "a table"


def _add(name: str, wanted: Mapping[str, object]) -> str:
    """Say how a missing setting is written."""
    options = wanted.get("enum")
    if is_json_array(options):
        return f"add {name}, one of {', '.join(map(str, options))}"
    example = _EXAMPLES.get(str(wanted.get("type")))
    if example:
        return f"add {name} = {example}"
    return f"add {name}"


def _describe_union(
    error: jsonschema_rs.ValidationError,
    branches: Sequence[Sequence[jsonschema_rs.ValidationError]],
    schema: Mapping[str, object],
    data: object,
) -> Iterator[RuleViolation]:
    """Report the problems of the branch that the value chooses; if it chooses none, the setting
    that would.
    """
    path = tuple(error.instance_path)
    value = _follow(data, error.instance_path)
    union = _follow(schema, error.schema_path)
    branches_of_schema = union if is_json_array(union) else ()
    tables = [_resolve(schema, each) for each in branches_of_schema]
    tags = [_find_tag(each) for each in tables]
    chosen = next(
        (number for number, each in enumerate(tables) if _is_chosen(each, tags[number], value)),
        None,
    )
    tag = next((each[0] for each in tags if each), None)
    if chosen is not None:
        for each in branches[chosen]:
            yield from _describe(each, schema, data)
    elif tag is not None and is_json_object(value):
        kinds = ", ".join(str(each[1]) for each in tags if each)
        untagged = (table for table, each in zip(tables, tags, strict=True) if not each)
        keys = chain.from_iterable(map(_required, untagged))
        others = "".join(f", or write {key} = […]" for key in keys)
        yield RuleViolation(
            (*path, tag),
            f"unknown {tag} {value[tag]!r}" if tag in value else "missing",
            f"use one of {kinds}{others}",
        )
    elif not is_json_object(value) and all(each.get("type") == "object" for each in tables):
        yield RuleViolation(path, *_describe_type(value, "object"))
    else:
        yield RuleViolation(
            path, *_describe_condition(error, _follow(schema, error.schema_path[:-1]))
        )


def _is_chosen(table: Mapping[str, object], tag: tuple[str, object] | None, value: object) -> bool:
    if not is_json_object(value) or table.get("type") != "object":
        return False
    if tag:
        return value.get(tag[0]) == tag[1]
    return all(name in value for name in _required(table))


def _find_tag(table: Mapping[str, object]) -> tuple[str, object] | None:
    """Find the required setting that has one possible value."""
    properties = _properties(table)
    for name in _required(table):
        setting = properties.get(name)
        if is_json_object(setting) and "const" in setting:
            return name, setting["const"]
    return None


def _describe_condition(error: jsonschema_rs.ValidationError, holder: object) -> tuple[str, str]:
    """Split the sentence of a condition into problem and fix; a condition without one is described
    by the validator.
    """
    described = str(holder.get("description", "")).rstrip(".") if is_json_object(holder) else ""
    problem, _, fix = described.partition("; ")
    if isinstance(error.kind, Kind.Pattern):
        expected = f"write a text that matches {error.kind.pattern}"
        if described:
            expected = f"expected: {_lower(described)}"
        return "not in the expected form", expected
    if error.kind.name in _BOUNDS:
        limit = getattr(error.kind, "limit", "")
        return error.message.removeprefix("the value "), _BOUNDS[error.kind.name].format(
            limit
        ).replace(" 1 characters", " 1 character")
    if fix:
        return (_lower(problem), fix)
    return (_lower(error.message), "change it")


def _suggest(name: str, known: Sequence[object], otherwise: str) -> str:
    close = get_close_matches(name, map(str, known), 1)
    if close:
        return _did_you_mean(close[0])
    if known:
        return f"use one of {', '.join(map(str, known))}"
    return otherwise


def _did_you_mean(name: object) -> str:
    return f"did you mean {name}?"


def _lower(text: str) -> str:
    return f"{text[:1].lower()}{text[1:]}"


def _follow(value: object, path: Sequence[str | int]) -> object:
    """Return the value at a path, or ``None``."""
    for step in path:
        if is_json_object(value) and isinstance(step, str):
            value = value.get(step)
        elif is_json_array(value) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def _resolve(schema: Mapping[str, object], part: object) -> Mapping[str, object]:
    """Return a part of a schema, or the definition that it refers to."""
    reference = part.get("$ref") if is_json_object(part) else None
    found = _follow(schema, str(reference).removeprefix("#/").split("/")) if reference else part
    if is_json_object(found):
        return found
    return {}


def _properties(schema: object) -> Mapping[str, object]:
    found = schema.get("properties") if is_json_object(schema) else None
    if is_json_object(found):
        return found
    return {}


def _required(schema: Mapping[str, object]) -> Sequence[str]:
    found = schema.get("required")
    if is_json_array(found):
        return [str(each) for each in found]
    return []
