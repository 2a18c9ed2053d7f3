"""Nodes of JSON Schemas: each schema within a document with its address, what it refers to, and a
validator of it alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, lru_cache
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

import jsonschema_rs

from .json_types import is_json_array, is_json_object

ROOT: Final = "urn:a2a-gen:root"
"""The address of a document that is asked about, whatever its own ``$id`` is."""
# Each holds everything that its schema reaches.
_MAX_VALIDATORS: Final = 16
_OLD: Final = ("draft-06", "draft-07")
_CONDITIONS: Final = frozenset({"if", "then", "else"})
_LATER: Final = frozenset(
    {
        "dependentRequired",
        "dependentSchemas",
        "maxContains",
        "minContains",
        "prefixItems",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
_UNKNOWN: Final[Mapping[str, frozenset[str]]] = {
    "draft-06": _LATER | _CONDITIONS,
    "draft-07": _LATER,
    "2019-09": frozenset({"prefixItems"}),
}
"""The keywords of later drafts, which mean nothing in a draft."""
_SCALAR_KEYWORDS: Final = (
    "type",
    "enum",
    "const",
    "format",
    "pattern",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
)


class Annotation:
    """A keyword that says something of a value and refuses none."""

    def __init__(self, *_: object) -> None:
        """Take the keyword as it is written."""

    def validate(self, _: object) -> None:
        """Accept every value."""


# Drafts from 2019-09 on read these as annotations; jsonschema-rs asserts them in older ones.
ANNOTATIONS: Final[dict[str, Any]] = {"contentEncoding": Annotation, "contentMediaType": Annotation}


def build_validator(
    schema: Mapping[str, object], registry: jsonschema_rs.Registry | None = None
) -> jsonschema_rs.Validator:
    """Build a validator as all packages use it: formats are asserted, and values stand in no
    message.
    """
    return jsonschema_rs.validator_for(
        dict(schema),
        registry=registry,
        validate_formats=True,
        keywords=ANNOTATIONS,
        mask="the value",
        offline=True,
    )


class SchemaPlace(NamedTuple):
    """A schema in a document."""

    address: str
    """The address of the document."""
    pointer: str
    """The JSON pointer of the schema, as the fragment of an address."""
    schema: object

    @property
    def keywords(self) -> Mapping[str, Any]:
        """The keywords; a schema that is true or false has none."""
        if is_json_object(self.schema):
            return self.schema
        return {}

    def get_part(self, *steps: str | int) -> SchemaPlace:
        """Return the schema below some steps."""
        schema: Any = self.schema
        pointer = self.pointer
        for step in steps:
            schema = schema[step]
            pointer = f"{pointer}/{_escape(str(step))}"
        return SchemaPlace(self.address, pointer, schema)

    def iter_parts(self, keyword: str) -> Iterator[SchemaPlace]:
        """Yield the schemas of a keyword that lists some."""
        listed = self.keywords.get(keyword)
        for index in range(len(listed) if is_json_array(listed) else 0):
            yield self.get_part(keyword, index)

    def iter_parts_by_name(self, keyword: str) -> Iterator[tuple[str, SchemaPlace]]:
        """Yield the schemas of a keyword that names some."""
        parts = self.keywords.get(keyword)
        for name in parts if is_json_object(parts) else ():
            yield name, self.get_part(keyword, name)


def _escape(step: str) -> str:
    return step.replace("~", "~0").replace("/", "~1").replace("%", "%25")


class SchemaDocuments:
    """Documents of schemas that refer to each other by address."""

    def __init__(self, root: Mapping[str, object], others: Mapping[str, Any]) -> None:
        self._documents: Mapping[str, Any] = {**others, ROOT: root}
        self.build_validator = lru_cache(_MAX_VALIDATORS)(self._build_validator)
        self._scalars: dict[tuple[str, str], jsonschema_rs.Validator | None] = {}
        self._patterns: dict[str, Callable[[object], bool]] = {}

    @property
    def root(self) -> SchemaPlace:
        """The schema that is asked about."""
        return SchemaPlace(ROOT, "", self._documents[ROOT])

    def has_old_draft(self, node: SchemaPlace) -> bool:
        """Check that the draft of a node is one that ignores keywords beside a reference."""
        return any(each in self.get_draft(node) for each in _OLD)

    def leave_out_unknown(self, node: SchemaPlace) -> SchemaPlace:
        """Return a node without the keywords that its draft does not know."""
        draft = self.get_draft(node)
        unknown = next(
            (keywords for name, keywords in _UNKNOWN.items() if name in draft), frozenset[str]()
        )
        if unknown.isdisjoint(node.keywords):
            return node
        return node._replace(
            schema={
                keyword: each for keyword, each in node.keywords.items() if keyword not in unknown
            }
        )

    def get_draft(self, node: SchemaPlace) -> str:
        """Return the draft that the document of a node names."""
        return str(self._documents[node.address].get("$schema", ""))

    def follow(self, node: SchemaPlace, reference: str) -> SchemaPlace | None:
        """Return what a reference leads to; ``None`` where only a validator knows: anchors, and
        documents within documents.
        """
        address, _, fragment = reference.partition("#")
        found = self._documents.get(address or node.address)
        if found is None or (fragment and not fragment.startswith("/")):
            return None
        target = SchemaPlace(address or node.address, "", found)
        for step in unquote(fragment).split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            schema = target.schema
            if is_json_object(schema) and key in schema:
                target = target.get_part(key)
            elif is_json_array(schema) and key.isdecimal() and int(key) < len(schema):
                target = target.get_part(int(key))
            else:
                return None
            if has_own_address(target):
                return None
        return target

    @cached_property
    def _registry(self) -> jsonschema_rs.Registry:
        return jsonschema_rs.Registry([*self._documents.items()])

    def _build_validator(self, address: str, pointer: str) -> Callable[[object], bool]:
        try:
            return build_validator({"$ref": f"{address}#{pointer}"}, self._registry).is_valid
        except (
            ValueError,
            jsonschema_rs.ReferencingError,
        ):
            # The validator of the whole has refused the value, and it decides.
            return lambda _: True

    def is_valid(self, node: SchemaPlace, value: object) -> bool:
        """Ask the validator of a node alone."""
        return self.build_validator(node.address, node.pointer)(value)

    def find_scalar_validator(self, node: SchemaPlace) -> jsonschema_rs.Validator | None:
        """Find the validator of what a node says itself of values without parts."""
        key = node.address, node.pointer
        if key not in self._scalars:
            own = {
                keyword: node.keywords[keyword]
                for keyword in _SCALAR_KEYWORDS
                if keyword in node.keywords
            }
            draft = self.get_draft(node)
            self._scalars[key] = (
                build_validator({**({"$schema": draft} if draft else {}), **own}) if own else None
            )
        return self._scalars[key]

    @cached_property
    def has_unique_items(self) -> Callable[[object], bool]:
        """Check that no two items of an array are equal."""
        return build_validator({"uniqueItems": True}).is_valid

    def matches(self, pattern: str, name: str) -> bool:
        """Check that a name matches a pattern, by the expressions of the validator."""
        if pattern not in self._patterns:
            self._patterns[pattern] = build_validator({"pattern": pattern}).is_valid
        return self._patterns[pattern](name)


def has_own_address(node: SchemaPlace) -> bool:
    """Check that a node is a document within a document, from which its references begin."""
    own = node.keywords.get("$id")
    return bool(node.pointer) and isinstance(own, str) and not own.startswith("#")
