"""The places where a value does not match its schema, each with what is expected there.

A validator of jsonschema-rs decides whether a value matches; it remembers what it has tried, so its
work grows with the value. It never lists the errors of a value with parts: before the first one it
collects those of every branch of every union within every branch, each with a copy of the value.
Here a schema looks at a value once, wherever it comes from, and all schemas together take a limited
number of looks.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any, Final, NamedTuple

from jsonschema_rs import ValidationError
from jsonschema_rs import ValidationErrorKind as Kind

from .field_paths import MAX_LISTED_FIELDS, FieldPath, Step
from .json_types import is_json_array, is_json_object
from .schema_nodes import SchemaDocuments, SchemaPlace, has_own_address

MAX_LOOKS: Final = 10_000
# Steps below the value; Python ends at a thousand nested calls, and a step takes several.
_MAX_DEPTH: Final = 40
# From so many parts on, a validator looks for the wrong ones first.
_LONG: Final = 100
_MAX_NAMES: Final = 20
_MISMATCH: Final = "the value does not match its schema"
_UNLIKELY: Final = "\0"


class Mismatch(NamedTuple):
    """A place where a value does not match, and why."""

    path: FieldPath
    text: str
    is_of_type: bool = False
    """True if the value is of another type."""
    expected: tuple[str, ...] = ()
    """The values, as JSON, one of which is expected."""


def list_mismatches(documents: SchemaDocuments, value: object) -> list[Mismatch]:
    """List the first mismatches of a value that its validator has refused."""
    finder = _Finder(documents)
    try:
        found = finder.find(documents.root, value, ())
    except RecursionError:
        # A long chain of references ends here.
        found = ()
    return [*found] or [Mismatch((), _MISMATCH)]


class _Finder:
    """Finds the mismatches of one value."""

    def __init__(self, documents: SchemaDocuments) -> None:
        self._documents = documents
        self._found: dict[tuple[str, str, FieldPath], tuple[Mismatch, ...]] = {}

    def find(self, node: SchemaPlace, value: object, path: FieldPath) -> tuple[Mismatch, ...]:
        """Find the first mismatches of a value, or of a part of it; where the looks are spent,
        none.
        """
        key = (node.address, node.pointer, path)
        if key not in self._found:
            if len(self._found) >= MAX_LOOKS:
                return ()
            # A schema that leads back to itself says nothing more.
            self._found[key] = ()
            self._found[key] = tuple(
                islice(self._iter_mismatches(node, value, path), MAX_LISTED_FIELDS)
            )
        return self._found[key]

    def _is_valid(self, node: SchemaPlace, value: object, path: FieldPath) -> bool:
        return not self.find(node, value, path)

    def _iter_mismatches(
        self, node: SchemaPlace, value: object, path: FieldPath
    ) -> Iterator[Mismatch]:
        node = self._documents.leave_out_unknown(node)
        schema = node.keywords
        if node.schema is False:
            yield Mismatch(path, "False schema does not allow the value")
            return
        reference = schema.get("$ref")
        target = self._documents.follow(node, reference) if isinstance(reference, str) else None
        is_foreign = has_own_address(node) or bool({"$dynamicRef", "$recursiveRef"} & schema.keys())
        if is_foreign or (reference is not None and target is None) or len(path) > _MAX_DEPTH:
            if not self._documents.is_valid(node, value):
                yield Mismatch(path, _MISMATCH)
            return
        if target is not None:
            yield from self.find(target, value, path)
            if self._documents.has_old_draft(node):
                return
        yield from self._check_scalar(node, value, path)
        if is_json_object(value):
            yield from self._check_members(node, value, path)
        elif is_json_array(value):
            yield from self._check_items(node, value, path)
        yield from self._combine(node, value, path)

    # --- values without parts ---

    def _check_scalar(
        self, node: SchemaPlace, value: object, path: FieldPath
    ) -> Iterator[Mismatch]:
        validator = self._documents.find_scalar_validator(node)
        if validator is None or validator.is_valid(value):
            return
        # An error holds a copy of the value, which may be large: its text is that of an empty one.
        plain: object = value
        if is_json_object(value):
            plain = {}
        elif is_json_array(value):
            plain = []
        for error in validator.iter_errors(_UNLIKELY if validator.is_valid(plain) else plain):
            if plain is value or isinstance(error.kind, Kind.Type | Kind.Constant | Kind.Enum):
                yield _explain(error, path)

    # --- objects ---

    def _check_members(
        self, node: SchemaPlace, value: dict[str, object], path: FieldPath
    ) -> Iterator[Mismatch]:
        schema = node.keywords
        yield from _check_size(len(value), "property", "properties", schema, path)
        members = dict(node.iter_parts_by_name("properties"))
        for name, member in members.items():
            if name in value:
                yield from self.find(member, value[name], (*path, name))
        others = value
        if members:
            others = {name: each for name, each in value.items() if name not in members}
        for pattern, part in node.iter_parts_by_name("patternProperties"):
            matching = {name for name in value if self._documents.matches(pattern, name)}
            yield from self._check_parts(
                part, ((name, value[name]) for name in value if name in matching), path
            )
            others = {name: each for name, each in others.items() if name not in matching}
        if schema.get("additionalProperties") is False and others:
            yield _refuse_names("Additional properties", others, path)
        elif "additionalProperties" in schema:
            yield from self._check_parts(
                node.get_part("additionalProperties"), others.items(), path
            )
        yield from (
            Mismatch((*path, name), f"{_quote(name)} is a required property")
            for name in schema.get("required", ())
            if name not in value
        )
        yield from self._check_dependents(node, value, path)
        if "propertyNames" in schema:
            yield from self._check_names(node.get_part("propertyNames"), value, path)
        if "unevaluatedProperties" in schema:
            yield from self._check_unevaluated_members(node, value, path)

    def _check_dependents(
        self, node: SchemaPlace, value: dict[str, object], path: FieldPath
    ) -> Iterator[Mismatch]:
        for keyword in ("dependentRequired", "dependentSchemas", "dependencies"):
            for name, part in node.iter_parts_by_name(keyword):
                if name in value and is_json_array(part.schema):
                    missing = [str(each) for each in part.schema if each not in value]
                    yield from (
                        Mismatch((*path, each), f"{_quote(each)} is a required property")
                        for each in missing
                    )
                elif name in value:
                    yield from self.find(part, value, path)

    def _check_names(
        self, node: SchemaPlace, names: Iterable[str], path: FieldPath
    ) -> Iterator[Mismatch]:
        wrong = (name for name in names if not self._documents.is_valid(node, name))
        for name in wrong:
            found = _Finder(self._documents).find(node, name, ())
            text = found[0].text if found else _MISMATCH
            yield Mismatch(path, text.replace("the value", f"the name {_quote(name)}"))

    def _check_parts(
        self, node: SchemaPlace, parts: Iterable[tuple[Step, object]], path: FieldPath
    ) -> Iterator[Mismatch]:
        """Check parts that have one schema."""
        if node.schema is True:
            return
        listed = [*parts]
        is_long = len(listed) > _LONG
        for step, part in listed:
            if not is_long or not self._documents.is_valid(node, part):
                yield from self.find(node, part, (*path, step))

    # --- arrays ---

    def _check_items(
        self, node: SchemaPlace, value: list[object], path: FieldPath
    ) -> Iterator[Mismatch]:
        schema = node.keywords
        yield from _check_size(len(value), "item", "items", schema, path)
        first = _list_first_items(node)
        for index, (part, item) in enumerate(zip(first, value, strict=False)):
            yield from self.find(part, item, (*path, index))
        keyword = _name_rest_of_items(node)
        if keyword in schema and len(value) > len(first):
            rest = ((index, value[index]) for index in range(len(first), len(value)))
            yield from self._check_parts(node.get_part(keyword), rest, path)
        if schema.get("uniqueItems") is True and not self._documents.has_unique_items(value):
            yield Mismatch(path, "the value has non-unique elements")
        if "contains" in schema and not self._has_contained(node, value, path):
            yield Mismatch(path, "None of the value are valid under the given schema")
        if "unevaluatedItems" in schema:
            yield from self._check_unevaluated_items(node, value, path)

    def _list_contained(self, node: SchemaPlace, value: list[object], path: FieldPath) -> list[int]:
        part = node.get_part("contains")
        if len(value) > _LONG:
            return [
                index for index, each in enumerate(value) if self._documents.is_valid(part, each)
            ]
        return [
            index for index, each in enumerate(value) if self._is_valid(part, each, (*path, index))
        ]

    def _has_contained(self, node: SchemaPlace, value: list[object], path: FieldPath) -> bool:
        schema = node.keywords
        count = len(self._list_contained(node, value, path))
        return bool(schema.get("minContains", 1) <= count <= schema.get("maxContains", count))

    # --- schemas that are combined ---

    def _combine(self, node: SchemaPlace, value: object, path: FieldPath) -> Iterator[Mismatch]:
        schema = node.keywords
        for part in node.iter_parts("allOf"):
            yield from self.find(part, value, path)
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                yield from self._check_union(node, keyword, value, path)
        if "not" in schema and self._is_valid(node.get_part("not"), value, path):
            yield Mismatch(
                path,
                (
                    f"{json.dumps(schema['not'], ensure_ascii=False, separators=(',', ':'))} is "
                    "not allowed for the value"
                ),
            )
        if (chosen := self._find_conditional(node, value, path)) is not None:
            yield from self.find(chosen, value, path)

    def _find_conditional(
        self, node: SchemaPlace, value: object, path: FieldPath
    ) -> SchemaPlace | None:
        """Find the schema that applies under the condition of a node."""
        if "if" not in node.keywords:
            return None
        keyword = "then" if self._is_valid(node.get_part("if"), value, path) else "else"
        if keyword in node.keywords:
            return node.get_part(keyword)
        return None

    def _check_union(
        self, node: SchemaPlace, keyword: str, value: object, path: FieldPath
    ) -> Iterator[Mismatch]:
        refused: list[tuple[Mismatch, ...]] = []
        accepting = 0
        for part in node.iter_parts(keyword):
            found = self.find(part, value, path)
            if found:
                refused.append(found)
            elif keyword == "anyOf":
                return
            else:
                accepting += 1
        if not accepting:
            yield from _explain_union(
                refused,
                path,
                (
                    f"the value is not valid under any of the schemas listed in the '{keyword}' "
                    "keyword"
                ),
            )
        elif accepting > 1:
            yield Mismatch(
                path,
                (
                    "the value is valid under more than one of the schemas listed in the "
                    f"'{keyword}' keyword"
                ),
            )

    # --- parts that no schema has looked at ---

    def _iter_applied(
        self, node: SchemaPlace, value: object, path: FieldPath
    ) -> Iterator[SchemaPlace]:
        """Yield a node and all that apply to the same value; of a union, the branches that accept
        it.
        """
        waiting = [node]
        seen = set[tuple[str, str]]()
        while waiting:
            each = self._documents.leave_out_unknown(waiting.pop())
            if (each.address, each.pointer) in seen:
                continue
            seen.add((each.address, each.pointer))
            yield each
            reference = each.keywords.get("$ref")
            if (
                isinstance(reference, str)
                and (target := self._documents.follow(each, reference)) is not None
            ):
                waiting.append(target)
            waiting += each.iter_parts("allOf")
            for keyword in ("anyOf", "oneOf"):
                waiting += [
                    part for part in each.iter_parts(keyword) if self._is_valid(part, value, path)
                ]
            if "if" in each.keywords and self._is_valid(part := each.get_part("if"), value, path):
                waiting.append(part)
            if (chosen := self._find_conditional(each, value, path)) is not None:
                waiting.append(chosen)
            if is_json_object(value):
                waiting += [
                    part
                    for name, part in each.iter_parts_by_name("dependentSchemas")
                    if name in value
                ]

    def _check_unevaluated_members(
        self, node: SchemaPlace, value: dict[str, object], path: FieldPath
    ) -> Iterator[Mismatch]:
        known = set[str]()
        for each in self._iter_applied(node, value, path):
            schema = each.keywords
            is_open = "additionalProperties" in schema or (
                "unevaluatedProperties" in schema and each != node
            )
            if is_open or {"$dynamicRef", "$recursiveRef"} & schema.keys():
                return
            known |= schema.get("properties", {}).keys()
            for pattern in schema.get("patternProperties", ()):
                known |= {name for name in value if self._documents.matches(pattern, name)}
        part = node.get_part("unevaluatedProperties")
        left = {name: each for name, each in value.items() if name not in known}
        if part.schema is False and left:
            yield _refuse_names("Unevaluated properties", left, path)
        else:
            yield from self._check_parts(part, left.items(), path)

    def _check_unevaluated_items(
        self, node: SchemaPlace, value: list[object], path: FieldPath
    ) -> Iterator[Mismatch]:
        known = set[int]()
        for each in self._iter_applied(node, value, path):
            schema = each.keywords
            is_open = _name_rest_of_items(each) in schema or (
                "unevaluatedItems" in schema and each != node
            )
            if is_open or {"$dynamicRef", "$recursiveRef"} & schema.keys():
                return
            known |= {*range(len(_list_first_items(each)))}
            if "contains" in schema and "2019-09" not in self._documents.get_draft(each):
                known |= {*self._list_contained(each, value, path)}
        part = node.get_part("unevaluatedItems")
        left = [(index, each) for index, each in enumerate(value) if index not in known]
        if part.schema is False and left:
            yield Mismatch(
                path,
                (
                    f"Unevaluated items are not allowed ({len(left)} "
                    f"item{'s' if len(left) > 1 else ''})"
                ),
            )
        else:
            yield from self._check_parts(part, left, path)


# --- sentences ---


def _explain(error: ValidationError, path: FieldPath) -> Mismatch:
    """Explain an error of a value without parts."""
    match error.kind:
        case Kind.Constant(expected_value=value):
            return Mismatch(path, error.message, expected=(_quote(value),))
        case Kind.Enum(options=list() as values):
            return Mismatch(
                path, error.message, expected=tuple(_quote(each) for each in values[:_MAX_NAMES])
            )
        case Kind.Format(format="date-time"):
            return Mismatch(
                path, f"{error.message}, such as 2026-01-31T10:00:00Z; a time needs an offset"
            )
        case kind:
            return Mismatch(path, error.message, is_of_type=isinstance(kind, Kind.Type))


def _explain_union(
    branches: Iterable[tuple[Mismatch, ...]], path: FieldPath, text: str
) -> Iterator[Mismatch]:
    """Explain a union by the mismatches of the branch that is meant, or by the values that its tag
    may have.
    """
    untagged: list[tuple[Mismatch, ...]] = []
    tags: list[Mismatch] = []
    for branch in branches:
        # A branch for another kind of value is not meant.
        if any(each.is_of_type and each.path == path for each in branch):
            continue
        members = (each for each in branch if len(each.path) == len(path) + 1)
        tag = next((each for each in members if each.expected), None)
        if tag is None:
            untagged.append(branch)
        else:
            tags.append(tag)
    if tags and not untagged and len({tag.path for tag in tags}) == 1:
        words = dict.fromkeys(chain.from_iterable(tag.expected for tag in tags))
        yield Mismatch(tags[0].path, f"the value is none of {', '.join(words)}")
    elif len(untagged) == 1:
        yield from untagged[0]
    else:
        yield Mismatch(path, text)


def _check_size(
    size: int,
    one: str,
    several: str,
    schema: Any,  # noqa: ANN401 - keywords of a schema
    path: FieldPath,
) -> Iterator[Mismatch]:
    suffix = several[:1].upper() + several[1:]
    for keyword, word, is_wrong in (("min", "less", int.__lt__), ("max", "more", int.__gt__)):
        bound = schema.get(keyword + suffix)
        if bound is not None and is_wrong(size, int(bound)):
            yield Mismatch(
                path, f"the value has {word} than {bound} {one if bound == 1 else several}"
            )


def _refuse_names(subject: str, names: Iterable[str], path: FieldPath) -> Mismatch:
    first = [*islice(names, _MAX_NAMES + 1)]
    listed = ", ".join(f"'{name}'" for name in first[:_MAX_NAMES])
    more = " and others" if len(first) > _MAX_NAMES else ""
    return Mismatch(
        (*path, first[0]),
        (
            f"{subject} are not allowed ({listed}{more} {'was' if len(first) == 1 else 'were'} "
            "unexpected)"
        ),
    )


def _list_first_items(node: SchemaPlace) -> list[SchemaPlace]:
    """List the schemas of the first items, each with one of its own."""
    return [*node.iter_parts("prefixItems" if "prefixItems" in node.keywords else "items")]


def _name_rest_of_items(node: SchemaPlace) -> str:
    """Name the keyword of the items behind the first ones."""
    if is_json_array(node.keywords.get("items")):
        return "additionalItems"
    return "items"


def _quote(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
