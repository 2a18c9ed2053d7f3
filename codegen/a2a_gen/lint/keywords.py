"""Rules about the keywords of JSON Schema: those that would have no effect in code, or another one than the schema says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from a2a_gen.ir.build import family_files
from a2a_gen.lint.rule import Subject
from a2a_gen.problems import Finding, MissingExtraError
from a2a_gen.source.documents import Document
from a2a_gen.source.json_text import Json, escaped
from a2a_gen.source.references import Schema, resolve

# Nothing in a class can say these; a generator that met them would leave them out without a word.
_NOT_REPRESENTABLE = frozenset(
    """
    $anchor $dynamicAnchor $dynamicRef $id allOf contains dependentRequired dependentSchemas else if maxContains maxProperties minContains
    minProperties not patternProperties prefixItems propertyNames then unevaluatedItems unevaluatedProperties uniqueItems
    """.split()  # noqa: SIM905 - a list would take twenty lines
)
_LOOK_AROUND = re.compile(r"\(\?<?[=!]")
_ANNOTATIONS = frozenset({"$ref", "description", "deprecated"})
_TYPE_LISTS = "$defs"


def not_representable(subject: Subject) -> Iterator[Finding]:
    """Find keywords that cannot become code."""
    for document, schema in subject.schemas():
        for keyword in schema.members.keys() & _NOT_REPRESENTABLE:
            yield document.place(f"{schema.pointer}/{keyword}"), f"{keyword} cannot be represented in code"


def boolean_schema(subject: Subject) -> Iterator[Finding]:
    """Find schemas that are only true or false."""
    for document, schema in subject.schemas():
        if isinstance(schema.data, bool) and schema.keyword != "additionalProperties":
            yield document.place(schema.pointer), f"a schema that is only {str(schema.data).lower()} has no effect"


def look_around(subject: Subject) -> Iterator[Finding]:
    """Find patterns that the fast engine for regular expressions does not know."""
    for document, schema in subject.schemas():
        pattern = schema.members.get("pattern")
        if isinstance(pattern, str) and _LOOK_AROUND.search(pattern):
            yield document.place(f"{schema.pointer}/pattern"), f"the pattern {pattern} looks ahead or behind"


def unknown_format(subject: Subject) -> Iterator[Finding]:
    """Find formats that change nothing, or too much."""
    for document, schema in subject.schemas():
        if schema.members.get("format", "date-time") != "date-time":
            yield document.place(f"{schema.pointer}/format"), f"format {schema.members['format']} is not checked"


def default(subject: Subject) -> Iterator[Finding]:
    """Find defaults, which JSON Schema takes for a remark."""
    for document, schema in subject.schemas():
        if "default" in schema.members:
            yield document.place(f"{schema.pointer}/default"), "a default has no effect: a missing member stays missing"


def title(subject: Subject) -> Iterator[Finding]:
    """Find titles, from which other names would be made."""
    for document, schema in subject.schemas():
        if "title" in schema.members:
            yield document.place(f"{schema.pointer}/title"), "a title competes with the name"


def closed_object(subject: Subject) -> Iterator[Finding]:
    """Find objects that refuse members without a name, or give them a type."""
    for document, schema in subject.schemas():
        extra = schema.members.get("additionalProperties")
        if extra is False or (isinstance(extra, dict) and "properties" in schema.members):
            yield document.place(f"{schema.pointer}/additionalProperties"), "an object with named members says what other members are"


def beside_reference(subject: Subject) -> Iterator[Finding]:
    """Find conditions beside a reference, which would be lost."""
    for document, schema in subject.schemas():
        if "$ref" in schema.members:
            for keyword in schema.members.keys() - _ANNOTATIONS:
                if not keyword.startswith("x-"):
                    yield document.place(f"{schema.pointer}/{keyword}"), f"{keyword} beside $ref has no effect"


def enum_without_type(subject: Subject) -> Iterator[Finding]:
    """Find enumerations that do not say that they are strings."""
    for document, schema in subject.schemas():
        if "enum" in schema.members and schema.members.get("type") != "string":
            yield document.place(f"{schema.pointer}/enum"), "an enumeration does not say that its values are strings"


def without_name(subject: Subject) -> Iterator[Finding]:
    """Find enumerations and objects with members that have no name."""
    for document, schema in subject.schemas():
        if schema.keyword and schema.keyword != _TYPE_LISTS and (kind := _needs_name(schema)):
            yield document.place(schema.pointer), f"{kind} is written where it is used, and has no name"


def _needs_name(schema: Schema) -> str:
    if "enum" in schema.members:
        return "an enumeration"
    return "an object with members" if "properties" in schema.members else ""


def constant(subject: Subject) -> Iterator[Finding]:
    """Find constants that are neither a string nor an integer."""
    for document, schema in subject.schemas():
        value: Json = schema.members.get("const", "")
        if isinstance(value, bool) or not isinstance(value, str | int):
            yield document.place(f"{schema.pointer}/const"), "a constant is neither a string nor an integer"


def description(subject: Subject) -> Iterator[Finding]:
    """Find files and types that do not say what they are."""
    for document, schema in subject.schemas():
        is_described = schema.keyword == _TYPE_LISTS or not schema.pointer
        if is_described and not schema.members.get("description"):
            yield document.place(schema.pointer), f"{'the type' if schema.pointer else 'the file'} has no description"


# The form of files: every table fits the schema that it names, and every file of types fits the schema of such files.
#
# This is the only use of jsonschema-rs, a package of the extra ``build``.
#

try:
    import jsonschema_rs
    from jsonschema_rs import ValidationErrorKind as Kind
except ImportError:
    raise MissingExtraError("jsonschema-rs") from None

NO_FORM_FITS = "this fits none of the forms that are possible here"

_OF_FAMILIES = "meta/family.schema.json"


def form(documents: Mapping[str, Document]) -> Iterator[Finding]:
    """Find everything in which a file is not of its form."""
    families = family_files(documents)
    forms: dict[str, jsonschema_rs.Draft202012Validator] = {}
    for path, document in documents.items():
        meta = _OF_FAMILIES if path in families else _named(document)
        if meta is None or (path in families and meta not in documents):
            continue
        schema = documents[meta].data if meta in documents else None
        if not isinstance(schema, dict):
            yield document.place("/$schema"), f"there is no schema {meta}"
            continue
        if meta not in forms:
            forms[meta] = jsonschema_rs.Draft202012Validator(schema)
        for error in forms[meta].iter_errors(document.data):
            pointer = "".join(f"/{escaped(str(step))}" for step in error.instance_path)
            yield from ((document.place(pointer + below), text) for below, text in _texts(error))


def _named(document: Document) -> str | None:
    """Find the schema that a table names; one on the Web is that of a schema, and not ours to check."""
    name = document.data.get("$schema") if isinstance(document.data, dict) else None
    return resolve(document, name).file if isinstance(name, str) and "://" not in name else None


def _texts(error: jsonschema_rs.ValidationError) -> Iterator[tuple[str, str]]:
    match error.kind:
        case Kind.AdditionalProperties(unexpected=names) | Kind.UnevaluatedProperties(unexpected=names):
            yield from ((f"/{escaped(name)}", f"there is no {name} in this form") for name in names)
        case Kind.Required(property=name):
            yield "", f"{name} is missing"
        case Kind.OneOfNotValid() | Kind.OneOfMultipleValid() | Kind.AnyOf():
            yield "", NO_FORM_FITS
        case _:
            yield "", f"{error.message[:1].lower()}{error.message[1:]}"
