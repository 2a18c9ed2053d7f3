"""Rules about JSON Schema keywords that have no effect in generated code, or another one than the
schema says.

``find_form_violations`` validates every table against the schema that it names, and every file of
types against the family schema. It is the only use of jsonschema-rs, a package of the extra
``build``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from a2a_gen.ir.build import family_files
from a2a_gen.lint.rule import LintContext
from a2a_gen.problems import MissingExtraError, Violation
from a2a_gen.source.documents import Document
from a2a_gen.source.json_text import Json, escape_key
from a2a_gen.source.references import Schema, resolve_reference

# A class cannot express these; most generators drop them silently.
_NOT_REPRESENTABLE = frozenset(
    """
    $anchor $dynamicAnchor $dynamicRef $id allOf contains dependentRequired dependentSchemas else
    if maxContains maxProperties minContains minProperties not patternProperties prefixItems
    propertyNames then unevaluatedItems unevaluatedProperties uniqueItems
    """.split()  # noqa: SIM905 - a list would take twenty lines
)
_LOOK_AROUND = re.compile(r"\(\?<?[=!]")
_ANNOTATIONS = frozenset({"$ref", "description", "deprecated"})
_DEFINITIONS_KEYWORD = "$defs"


def find_unrepresentable_keywords(context: LintContext) -> Iterator[Violation]:
    """Find keywords that cannot become code."""
    for document, schema in context.iter_schemas():
        for keyword in schema.members.keys() & _NOT_REPRESENTABLE:
            yield (
                document.place_at(f"{schema.pointer}/{keyword}"),
                f"{keyword} cannot be represented in Python",
            )


def find_boolean_schemas(context: LintContext) -> Iterator[Violation]:
    """Find schemas that are only true or false."""
    for document, schema in context.iter_schemas():
        if isinstance(schema.data, bool) and schema.keyword != "additionalProperties":
            yield (
                document.place_at(schema.pointer),
                f"the boolean schema {str(schema.data).lower()} has no effect",
            )


def find_look_arounds(context: LintContext) -> Iterator[Violation]:
    """Find patterns that the fast regular expression engine does not support."""
    for document, schema in context.iter_schemas():
        pattern = schema.members.get("pattern")
        if isinstance(pattern, str) and _LOOK_AROUND.search(pattern):
            yield (
                document.place_at(f"{schema.pointer}/pattern"),
                f"the pattern {pattern} uses look-around",
            )


def find_unknown_formats(context: LintContext) -> Iterator[Violation]:
    """Find formats that change nothing, or too much."""
    for document, schema in context.iter_schemas():
        if schema.members.get("format", "date-time") != "date-time":
            yield (
                document.place_at(f"{schema.pointer}/format"),
                f"format {schema.members['format']} is not checked",
            )


def find_defaults(context: LintContext) -> Iterator[Violation]:
    """Find defaults, which JSON Schema treats as annotations."""
    for document, schema in context.iter_schemas():
        if "default" in schema.members:
            yield (
                document.place_at(f"{schema.pointer}/default"),
                "a default has no effect; a missing member stays missing",
            )


def find_titles(context: LintContext) -> Iterator[Violation]:
    """Find titles, which would become other class names."""
    for document, schema in context.iter_schemas():
        if "title" in schema.members:
            yield (
                document.place_at(f"{schema.pointer}/title"),
                "a title conflicts with the name of the type",
            )


def find_closed_objects(context: LintContext) -> Iterator[Violation]:
    """Find objects that reject members without a name, or give them a type."""
    for document, schema in context.iter_schemas():
        extra = schema.members.get("additionalProperties")
        if extra is False or (isinstance(extra, dict) and "properties" in schema.members):
            yield (
                document.place_at(f"{schema.pointer}/additionalProperties"),
                "an object with named members constrains additional members",
            )


def find_keywords_beside_references(context: LintContext) -> Iterator[Violation]:
    """Find constraints beside a reference, which would be lost."""
    for document, schema in context.iter_schemas():
        if "$ref" in schema.members:
            for keyword in schema.members.keys() - _ANNOTATIONS:
                if not keyword.startswith("x-"):
                    yield (
                        document.place_at(f"{schema.pointer}/{keyword}"),
                        f"{keyword} beside $ref has no effect",
                    )


def find_untyped_enums(context: LintContext) -> Iterator[Violation]:
    """Find enumerations without ``"type": "string"``."""
    for document, schema in context.iter_schemas():
        if "enum" in schema.members and schema.members.get("type") != "string":
            yield (
                document.place_at(f"{schema.pointer}/enum"),
                'an enumeration lacks "type": "string"',
            )


def find_unnamed_types(context: LintContext) -> Iterator[Violation]:
    """Find unnamed enumerations and unnamed objects with members."""
    for document, schema in context.iter_schemas():
        if (
            schema.keyword
            and schema.keyword != _DEFINITIONS_KEYWORD
            and (kind := _describe_unnamed(schema))
        ):
            yield document.place_at(schema.pointer), f"{kind} is defined inline, without a name"


def _describe_unnamed(schema: Schema) -> str:
    if "enum" in schema.members:
        return "an enumeration"
    if "properties" in schema.members:
        return "an object with members"
    return ""


def find_invalid_constants(context: LintContext) -> Iterator[Violation]:
    """Find constants that are neither a string nor an integer."""
    for document, schema in context.iter_schemas():
        value: Json = schema.members.get("const", "")
        if isinstance(value, bool) or not isinstance(value, str | int):
            yield (
                document.place_at(f"{schema.pointer}/const"),
                "a constant is neither a string nor an integer",
            )


def find_missing_descriptions(context: LintContext) -> Iterator[Violation]:
    """Find files and types without a description."""
    for document, schema in context.iter_schemas():
        is_described = schema.keyword == _DEFINITIONS_KEYWORD or not schema.pointer
        if is_described and not schema.members.get("description"):
            yield (
                document.place_at(schema.pointer),
                f"{'the type' if schema.pointer else 'the file'} has no description",
            )


try:
    import jsonschema_rs
    from jsonschema_rs import ValidationErrorKind as Kind
except ImportError:
    raise MissingExtraError("jsonschema-rs") from None

NO_MATCHING_SCHEMA = "the value matches none of the possible schemas"

_FAMILY_META_SCHEMA = "meta/family.schema.json"


def find_form_violations(documents: Mapping[str, Document]) -> Iterator[Violation]:
    """Find violations of the meta-schema of a file."""
    families = family_files(documents)
    forms: dict[str, jsonschema_rs.Draft202012Validator] = {}
    for path, document in documents.items():
        meta = _FAMILY_META_SCHEMA if path in families else _find_meta_schema(document)
        if meta is None or (path in families and meta not in documents):
            continue
        schema = documents[meta].data if meta in documents else None
        if not isinstance(schema, dict):
            yield document.place_at("/$schema"), f"the schema {meta} does not exist"
            continue
        if meta not in forms:
            forms[meta] = jsonschema_rs.Draft202012Validator(schema)
        for error in forms[meta].iter_errors(document.data):
            pointer = "".join(f"/{escape_key(str(step))}" for step in error.instance_path)
            yield from (
                (document.place_at(pointer + below), text) for below, text in _describe_error(error)
            )


def _find_meta_schema(document: Document) -> str | None:
    """Find the schema that a table names; a URL belongs to a schema file, which is not validated
    here.
    """
    name = document.data.get("$schema") if isinstance(document.data, dict) else None
    if isinstance(name, str) and "://" not in name:
        return resolve_reference(document, name).file
    return None


def _describe_error(error: jsonschema_rs.ValidationError) -> Iterator[tuple[str, str]]:
    match error.kind:
        case (
            Kind.AdditionalProperties(unexpected=names)
            | Kind.UnevaluatedProperties(unexpected=names)
        ):
            yield from ((f"/{escape_key(name)}", f"unknown key {name}") for name in names)
        case Kind.Required(property=name):
            yield "", f"{name} is missing"
        case Kind.OneOfNotValid() | Kind.OneOfMultipleValid() | Kind.AnyOf():
            yield "", NO_MATCHING_SCHEMA
        case _:
            yield "", f"{error.message[:1].lower()}{error.message[1:]}"
