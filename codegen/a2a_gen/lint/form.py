"""The form of files: every table fits the schema that it names, and every file of types fits the schema of such files.

This is the only use of jsonschema-rs, a package of the extra ``build``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from a2a_gen.ir.build import family_files
from a2a_gen.problems import Finding, MissingExtraError
from a2a_gen.source.documents import Document
from a2a_gen.source.positions import escaped
from a2a_gen.source.references import resolve

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
