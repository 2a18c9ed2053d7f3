"""Checks of the schema files that were read: what no draft allows, what is slow, and what is
written but says nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache

import jsonschema_rs
from jsonschema_rs import ValidationErrorKind

from a2a_gen.agent.schemas import files as schemas
from a2a_gen.agent.schemas.files import Library, Schema, SchemaRef
from a2a_gen.problems import Level, Problem
from a2a_gen.source.json_text import Json, escape_key

_LONG_ENOUGH = 3
SUPPORTED_DRAFTS = (
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2019-09/schema",
    "http://json-schema.org/draft-07/schema",
    "http://json-schema.org/draft-06/schema",
)


def check(library: Library) -> Iterator[Problem]:
    """Check every file that was read."""
    yield from check_validity(library)
    yield from _find_too_large(library)
    for place, schema in _iter_files(library):
        yield from _find_slow_patterns(library, place, schema)
        yield from _find_foreign_keywords(library, place, schema)


_MAX_MEMBERS = 15_000
"""Limit of members in all files: a build of more takes over a minute."""


def _find_too_large(library: Library) -> Iterator[Problem]:
    """Report schemas that would be generated for minutes, before anything is."""
    counts: Counter[str] = Counter()
    for place, schema in _iter_files(library):
        counts[place.file] += len(schemas.members(schema, "properties"))
    if counts.total() > _MAX_MEMBERS:
        file, count = counts.most_common(1)[0]
        text = (
            f"{count:,} members in this file, {counts.total():,} in all, are too many to "
            f"generate: the limit is {_MAX_MEMBERS:,}"
        )
        yield Problem(
            library.place(SchemaRef(file)),
            "A2A-K08",
            text,
            (
                "copy the definitions that you need into files of their own, or share repeated "
                "members by $ref"
            ),
        )


def check_validity(library: Library) -> Iterator[Problem]:
    """Report files that are no schemas of a supported draft, also in schemas of other projects."""
    for path, document in library.files.items():
        if not document.path.endswith(".toml"):
            yield from _find_invalid_schemas(library, path, document.data)


def _iter_files(library: Library) -> Iterator[tuple[SchemaRef, Schema]]:
    for path, document in library.files.items():
        if not document.path.endswith(".toml"):
            yield from _iter_schemas(SchemaRef(path), document.data)


def _find_invalid_schemas(library: Library, path: str, data: Json) -> Iterator[Problem]:
    """Report documents that are not valid JSON Schemas."""
    draft = (
        data.get("$schema", SUPPORTED_DRAFTS[0]) if isinstance(data, dict) else SUPPORTED_DRAFTS[0]
    )
    if not isinstance(draft, str) or draft.rstrip("#") not in SUPPORTED_DRAFTS:
        place = library.place(SchemaRef(path, "/$schema"))
        yield Problem(
            place,
            "A2A-K06",
            f"$schema: {draft!r} is not a supported draft of JSON Schema",
            _describe_supported(draft),
        )
        return
    if isinstance(data, dict) and (
        word := next(
            (each for each in ("openapi", "swagger") if isinstance(data.get(each), str)), ""
        )
    ):
        where = library.place(SchemaRef(path, f"/{word}"))
        yield Problem(
            where,
            "A2A-K06",
            "an OpenAPI document, not a JSON Schema",
            "write the schemas of its components to files of their own",
        )
        return
    validator = _load_metaschema(draft)
    if validator.is_valid(data):
        return
    for error in validator.iter_errors(data):
        if _is_about_reference(error):
            continue
        pointer = "".join(f"/{escape_key(str(step))}" for step in error.instance_path)
        text, cure = _describe_invalid(error)
        yield Problem(
            library.place(SchemaRef(path, pointer)),
            "A2A-K06",
            f"not a valid JSON Schema: {text}",
            cure,
        )


def _describe_invalid(error: jsonschema_rs.ValidationError) -> tuple[str, str]:
    """Describe an error of a document, and its cure."""
    match error.kind:
        case ValidationErrorKind.PropertyNames(error=inner):
            return _describe_invalid(inner)
        case ValidationErrorKind.Format(format="regex"):
            pattern = error.instance
            return (
                f"the pattern {pattern} is no regular expression of ECMA-262 in Unicode mode",
                (
                    "correct it; outside of a class, the characters ] { } are written "
                    r"\\] \\{ \\} in JSON"
                ),
            )
        case _:
            return (
                f"{error.message[:1].lower()}{error.message[1:]}",
                "follow the draft named in $schema",
            )


def _is_about_reference(error: jsonschema_rs.ValidationError) -> bool:
    """Check that an error is only about the spelling of references: generators write names such as
    Map<string> into them, which resolve.
    """
    match error.kind:
        case ValidationErrorKind.Format():
            return error.instance_path[-1:] == ["$ref"]
        case ValidationErrorKind.AnyOf(context=branches):
            return any(all(map(_is_about_reference, branch)) for branch in branches)
        case _:
            return False


@cache
def _load_metaschema(draft: str) -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for(
        {"$schema": draft, "$ref": draft}, validate_formats=True, offline=True
    )


def _describe_supported(draft: Json) -> str:
    if isinstance(draft, str) and "draft-04" in draft:
        return (
            "name draft-07; write $id for id, and exclusiveMinimum and exclusiveMaximum as "
            "numbers in place of minimum and maximum"
        )
    return f"use one of {', '.join(SUPPORTED_DRAFTS)}"


def _iter_schemas(place: SchemaRef, schema: Json) -> Iterator[tuple[SchemaRef, Schema]]:
    """Iterate over a schema and every schema within it, definitions included."""
    if isinstance(schema, dict):
        yield place, schema
        for inner, part in _direct_subschemas(place, schema):
            yield from _iter_schemas(inner, part)


def _find_slow_patterns(library: Library, place: SchemaRef, schema: Schema) -> Iterator[Problem]:
    """Report patterns with look-around or back-references: a backtracking engine can take seconds
    for a long text.
    """
    by_pointer = {"/pattern": schemas.text(schema, "pattern")}
    by_pointer |= {
        f"/patternProperties/{escape_key(name)}": name
        for name in schemas.members(schema, "patternProperties")
    }
    for pointer, pattern in by_pointer.items():
        if _TRIED.search(_LITERAL.sub("", pattern)):
            where = library.place(SchemaRef(place.file, place.pointer + pointer))
            text = (
                f"the pattern {pattern} uses look-around or back-references; matching a long "
                "text may take seconds"
            )
            yield Problem(
                where,
                "A2A-K10",
                text,
                r"rewrite it without (?=…), (?!…), (?<=…), (?<!…) and \1",
                Level.WARNING,
            )


def _find_foreign_keywords(library: Library, place: SchemaRef, schema: Schema) -> Iterator[Problem]:
    """Report keywords that say something to a reader, and nothing to a validator."""
    for keyword, value in schema.items():
        where = library.place(SchemaRef(place.file, f"{place.pointer}/{escape_key(keyword)}"))
        if keyword == "nullable" and value is True:
            text = "nullable: a keyword of OpenAPI 3.0, without effect in JSON Schema"
            yield Problem(where, "A2A-K13", text, _describe_nullable(schema))
        elif keyword not in KEYWORDS and (meant := _find_similar(keyword)):
            yield Problem(
                where,
                "A2A-K14",
                f"{keyword}: not a keyword of JSON Schema, so it has no effect",
                f"did you mean {meant}?",
                Level.WARNING,
            )


def _describe_nullable(schema: Schema) -> str:
    kind = schema.get("type")
    if isinstance(kind, str) and not {"enum", "const"} & schema.keys():
        return f'write "type": ["{kind}", "null"]'
    return 'write "anyOf": [{…}, {"type": "null"}]'


def _find_similar(keyword: str) -> str:
    return next(
        (
            each
            for each in sorted(KEYWORDS)
            if len(each) >= _LONG_ENOUGH and _is_one_edit_away(keyword, each)
        ),
        "",
    )


def _is_one_edit_away(one: str, other: str) -> bool:
    """Return true if one character was added, left out or replaced, or two were swapped."""
    if abs(len(one) - len(other)) > 1:
        return False
    start = next(
        (index for index, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]),
        min(len(one), len(other)),
    )
    left = one[start:]
    right = other[start:]
    return (
        left[1:] in {right, right[1:]}
        or left == right[1:]
        or (left[:2] == right[1::-1] and left[2:] == right[2:])
    )


def _direct_subschemas(place: SchemaRef, schema: Schema) -> Iterator[tuple[SchemaRef, Json]]:
    """List the direct subschemas, definitions included."""
    by_pointer: dict[str, Json] = {}
    for holder in schemas.HOLDERS:
        for name, each in schemas.members(schema, holder).items():
            by_pointer[f"/{holder}/{escape_key(name)}"] = each
    for pointer, part in (*schemas.subschemas(schema), *by_pointer.items()):
        yield SchemaRef(place.file, place.pointer + pointer), part


_LITERAL = re.compile(r"\\[^1-9k]|\[(?:\\.|[^]\\])*\]")
_TRIED = re.compile(r"\(\?(?:<?[=!])|\\[1-9]|\\k<")

KEYWORDS = frozenset(
    """
    $anchor $comment $defs $dynamicAnchor $dynamicRef $id $recursiveAnchor $recursiveRef $ref
    $schema $vocabulary additionalItems additionalProperties allOf anyOf const contains
    contentEncoding contentMediaType contentSchema default definitions dependencies
    dependentRequired dependentSchemas deprecated description else enum example examples
    exclusiveMaximum exclusiveMinimum format id if items maxContains maxItems maxLength
    maxProperties maximum minContains minItems minLength minProperties minimum multipleOf not
    oneOf pattern patternProperties prefixItems properties propertyNames readOnly required then
    title type unevaluatedItems unevaluatedProperties uniqueItems writeOnly
    """.split()  # noqa: SIM905 - a list would take ninety lines
)
"""Every keyword of the drafts from 6 on."""
