"""Schema files of a project, read when something refers to them, and resolution of references.

    report.json#/$defs/Chapter     a file beside the one that refers to it, and a pointer in it
    #/$defs/Chapter, #chapter      a pointer, or an anchor, in the same file
    https://acme.com/chapter.json  the schema with this ``$id``, in a file that was read or that
                                   lies beside one that was
    a2a:v1_0#/$defs/Part           a type of the protocol, in one of its dialects

Nothing is fetched, and nothing outside the project is read but the schemas of the protocol, which
come with this package.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import NamedTuple, TypeAlias
from urllib.parse import unquote

from a2a_gen.problems import Place, Problem
from a2a_gen.source.documents import Document
from a2a_gen.source.json_text import Json, ParseProblem, escape_key, parse, unescape_key
from a2a_gen.source.references import PROTOCOL_PREFIX, join_address, split_fragment

YAML = frozenset({".yaml", ".yml"})
_SUFFIXES = (".json", ".yaml", ".yml")
_INDEX = re.compile("[0-9]{1,9}")


def _select_parser(
    suffix: str,
) -> tuple[Callable[[str], tuple[Json, tuple[ParseProblem, ...]]], type[Document]]:
    """Select the parser of a file by its suffix."""
    if suffix not in YAML:
        return parse, Document
    from a2a_gen.source import yaml_text  # noqa: PLC0415 - an extra, only needed for YAML

    return yaml_text.parse, yaml_text.YamlDocument


class SchemaRef(NamedTuple):
    """A schema: its file, and the JSON pointer to it."""

    file: str
    pointer: str = ""


class Library:
    """Schema files, each read once; problems of files and references are collected in
    ``problems``.
    """

    def __init__(self, root: Path, settings: Document | None = None) -> None:
        self._root = root
        self._read: dict[str, Document | None] = (
            {} if settings is None else {settings.path: settings}
        )
        self._ids: dict[str, SchemaRef] = {}
        self._bases: dict[str, dict[str, str]] = {}
        self._nested: dict[str, tuple[str, ...]] = {}
        self.problems: dict[Problem, None] = {}

    @property
    def files(self) -> Mapping[str, Document]:
        """Return the files of the project that were read."""
        return {
            path: document
            for path, document in sorted(self._read.items())
            if document and not path.startswith(PROTOCOL_PREFIX)
        }

    def document(self, path: str, place: Place) -> Document | None:
        """Read the document that a place refers to."""
        if path not in self._read:
            self._read[path] = None
            if path.startswith(PROTOCOL_PREFIX):
                self._read[path] = self._protocol(path, place)
            else:
                self._read[path] = self._open(path, place)
            self._index(path, self._read[path])
        return self._read[path]

    def value(self, target: SchemaRef) -> Json:
        """Return the schema at a resolved target."""
        document = self._read[target.file]
        found, value = _resolve_pointer(document.data if document else True, target.pointer)
        if found:
            return value
        return True

    def place(self, target: SchemaRef) -> Place:
        """Return the place of a target."""
        document = self._read.get(target.file)
        if document:
            return document.place_at(target.pointer)
        return Place(target.file, 0, target.pointer)

    def resolve(self, text: str, origin: SchemaRef) -> SchemaRef | None:
        """Resolve a reference found at a place; record a problem and return ``None`` when it does
        not resolve.
        """
        place = self.place(origin)
        name, fragment = split_fragment(text)
        target = self._by_id(name, fragment, origin) if name else None
        if target is None:
            if "://" in name or name.startswith("urn:"):
                self._problem(
                    place,
                    f"{text} is not part of this project",
                    "put the schema with this $id beside this file; nothing is fetched",
                )
                return None
            pointer = unquote(fragment)
            nested = (
                "" if name or (pointer and not pointer.startswith("/")) else self.resource(origin)
            )
            target = SchemaRef(self._path(name, origin.file), nested + pointer)
        document = self.document(target.file, place)
        if document is None:
            return None
        if fragment and not fragment.startswith("/"):
            return self._anchor(document, target.pointer.rpartition("/")[2], place)
        if not _resolve_pointer(document.data, target.pointer)[0]:
            self._problem(
                place,
                f"{text} does not resolve: {target.file} has no #{target.pointer}",
                "correct the reference",
            )
            return None
        return target

    def resource(self, origin: SchemaRef) -> str:
        """Return the pointer of the innermost schema with an ``$id`` around a place: its references
        begin there.
        """
        return max(
            (
                each
                for each in self.nested(origin.file)
                if f"{origin.pointer}/".startswith(f"{each}/")
            ),
            key=len,
            default="",
        )

    def nested(self, file: str) -> tuple[str, ...]:
        """List the schemas within a file that have an ``$id``."""
        if file not in self._nested:
            document = self._read.get(file)
            found = _list_ids(document.data) if document else ()
            self._nested[file] = tuple(
                pointer for pointer, each in found if pointer and not each.startswith("#")
            )
        return self._nested[file]

    def refuse_nested(self, origin: SchemaRef) -> None:
        """Record a problem for a ``$recursiveRef`` in a file with nested schemas: what it means
        depends on the path of the validator.
        """
        if nested := self.nested(origin.file):
            text = (
                f"$recursiveRef in a file with nested $ids is not supported: #{nested[0]} has one"
            )
            self._problem(
                self.place(origin), text, "use $ref, or move the nested schema to a file of its own"
            )

    def _path(self, name: str, origin: str) -> str:
        if not name or name.startswith(PROTOCOL_PREFIX):
            return name or origin
        if not origin.startswith(PROTOCOL_PREFIX):
            return posixpath.normpath(posixpath.join(posixpath.dirname(origin), name))
        return origin

    def _by_id(self, name: str, fragment: str, origin: SchemaRef) -> SchemaRef | None:
        """Find a schema by its ``$id``: in the files that were read, then in those beside the
        referring one.
        """
        found = self._ids.get(
            join_address(self._find_base(origin.file, origin.pointer), name)
        ) or self._ids.get(name)
        if found is None and ("://" in name or name.startswith("urn:")):
            for file in self._beside(origin.file):
                self.document(file, self.place(origin))
            found = self._ids.get(name)
        if found is None or not fragment:
            return found
        return SchemaRef(
            found.file,
            found.pointer + unquote(fragment) if fragment.startswith("/") else unquote(fragment),
        )

    def _index(self, path: str, document: Document | None) -> None:
        """Remember the ``$id`` of every schema in a file, as it is written and in full; of two with
        one, the first that was read counts.
        """
        bases = self._bases[path] = {}
        for pointer, each in _list_ids(document.data) if document else ():
            if not each.startswith("#"):
                bases[pointer] = join_address(self._find_base(path, pointer), each)
                for name in (bases[pointer], each):
                    self._ids.setdefault(name.rstrip("#"), SchemaRef(path, pointer))

    def _find_base(self, file: str, pointer: str) -> str:
        """Find the address from which the references of a schema begin: the ``$id`` of the
        innermost schema around it that has one.
        """
        bases = self._bases.get(file, {})
        if around := [each for each in bases if f"{pointer}/".startswith(f"{each}/")]:
            return bases[max(around, key=len)]
        return ""

    def _beside(self, file: str) -> Iterator[str]:
        folder = (self._root / file).parent
        for entry in sorted(folder.rglob("*")):
            if entry.suffix in _SUFFIXES and entry.is_file():
                yield entry.relative_to(self._root).as_posix()

    def _anchor(self, document: Document, name: str, place: Place) -> SchemaRef | None:
        keywords = (("$anchor", name), ("$dynamicAnchor", name), ("$id", f"#{name}"))
        found: list[str] = []
        for keyword, spelled in keywords:
            texts = _texts(document.data, keyword)
            found += [pointer for pointer, text in texts if text == spelled]
        if not found:
            self._problem(
                place,
                f"{document.path} has no anchor {name}",
                "correct the reference, or add the $anchor",
            )
            return None
        # The one that is meant depends on nested $ids, or on the path that a validator takes.
        if len(set(found)) > 1:
            listed = ", ".join(f"#{pointer}" for pointer in sorted(set(found)))
            self._problem(
                place,
                f"{document.path} has the anchor {name} several times: {listed}",
                "refer to a pointer, or name each anchor differently",
            )
            return None
        return SchemaRef(document.path, found[0])

    def _open(self, path: str, place: Place) -> Document | None:
        file = self._root / path
        try:
            if not file.resolve().is_relative_to(self._root.resolve()):
                self._problem(
                    place, f"{path} is outside the project", "move the file into the project"
                )
                return None
            text = file.read_bytes().decode("utf-8")
        except OSError as error:
            self._problem(
                place,
                f"{path} cannot be read: {(error.strerror or '').lower()}",
                "correct the name, or add the file",
            )
            return None
        except UnicodeDecodeError:
            self._problem(place, f"{path} is not UTF-8", "save the file in UTF-8")
            return None
        except ValueError as error:
            self._problem(place, f"{path!r} is not a file name: {error}", "correct the name")
            return None
        read, kind = _select_parser(file.suffix)
        data, mistakes = read(text)
        self.problems |= {
            Problem(Place(path, each.line, each.pointer), each.rule, each.text, each.cure): None
            for each in mistakes
        }
        if mistakes:
            return None
        return kind(path, text, data)

    def _protocol(self, path: str, place: Place) -> Document | None:
        """Read the schemas of the protocol in a dialect from their package, without importing
        it.
        """
        spec = find_spec("a2a_contract")
        known: dict[str, Path] = {}
        if spec:
            schemas = Path(spec.origin or "").parent.glob("schemas/v*.json")
            known = {f"{PROTOCOL_PREFIX}{each.stem}": each for each in schemas}
        # References may come from the card of a remote agent: a name is looked up, and never
        # joined to a path.
        if path not in known:
            self._problem(
                place,
                f"{path} is not a dialect of the protocol",
                f"use one of {', '.join(sorted(known)) or 'none here'}",
            )
            return None
        text = known[path].read_text(encoding="utf-8")
        return Document(path, text, json.loads(text))

    def _problem(self, place: Place, text: str, cure: str) -> None:
        self.problems[Problem(place, "A2A-K01", text, cure)] = None


def _resolve_pointer(data: Json, pointer: str) -> tuple[bool, Json]:
    for step in filter(None, pointer.split("/")[1:]) if pointer else ():
        key = unescape_key(step)
        match data:
            case dict() if key in data:
                data = data[key]
            case list() if _INDEX.fullmatch(key) and int(key) < len(data):
                data = data[int(key)]
            case _:
                return False, None
    return True, data


def _list_ids(data: Json) -> Iterator[tuple[str, str]]:
    """List every ``$id`` with the pointer of its schema; in draft 7 one beside a ``$ref`` means
    nothing.
    """
    is_ignored_beside_ref = is_old(text(data, "$schema"))
    for pointer, each in _texts(data, "$id"):
        schema = _resolve_pointer(data, pointer)[1]
        if not (is_ignored_beside_ref and isinstance(schema, dict) and "$ref" in schema):
            yield pointer, each


def _texts(data: Json, keyword: str, pointer: str = "") -> Iterator[tuple[str, str]]:
    """Find every text under a keyword, with the pointer of its schema."""
    if isinstance(data, dict):
        value = data.get(keyword)
        if isinstance(value, str):
            yield pointer, value
        for key, value in data.items():
            yield from _texts(
                value, keyword, f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}"
            )
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from _texts(value, keyword, f"{pointer}/{index}")


# --- keywords of JSON Schema, over all drafts from 7 on ---
Schema: TypeAlias = Mapping[str, Json]

_OLD_DRAFTS = ("draft-07", "draft-06")

REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
HOLDERS = ("$defs", "definitions")
"""The keywords that hold definitions, which count only when referenced."""

_ONE = frozenset(
    {
        "additionalItems",
        "additionalProperties",
        "contains",
        "contentSchema",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
_LIST = frozenset({"allOf", "anyOf", "items", "oneOf", "prefixItems"})
_BY_NAME = frozenset({"dependencies", "dependentSchemas", "patternProperties", "properties"})
_ABOUT_TYPES = frozenset(
    {
        *REFERENCES,
        "additionalProperties",
        "allOf",
        "anyOf",
        "const",
        "dependencies",
        "dependentSchemas",
        "else",
        "enum",
        "items",
        "oneOf",
        "patternProperties",
        "prefixItems",
        "properties",
        "then",
        "type",
    }
)


def subschemas(schema: Schema) -> Iterator[tuple[str, Json]]:
    """Yield each direct subschema with its pointer; definitions are left out."""
    for keyword, value in schema.items():
        if keyword in _BY_NAME and isinstance(value, dict):
            yield from (
                (f"/{keyword}/{escape_key(name)}", each)
                for name, each in value.items()
                if isinstance(each, dict | bool)
            )
        elif keyword in _LIST and isinstance(value, list):
            yield from ((f"/{keyword}/{index}", each) for index, each in enumerate(value))
        elif keyword in _ONE and isinstance(value, dict | bool):
            yield f"/{keyword}", value


def reference(schema: Schema) -> str | None:
    """Return the reference of a schema."""
    for keyword in REFERENCES:
        if isinstance(text := schema.get(keyword), str):
            return text
    return None


def is_about_types(schema: Json) -> bool:
    """Check that a schema restricts the type of a value, not only the value."""
    return (
        isinstance(schema, dict)
        and not _ABOUT_TYPES.isdisjoint(schema)
        and any(_has_type_keyword(key, schema[key]) for key in _ABOUT_TYPES & schema.keys())
    )


def _has_type_keyword(keyword: str, value: Json) -> bool:
    match keyword, value:
        case (("anyOf" | "oneOf" | "allOf"), list()):
            return any(map(is_about_types, value))
        case (("then" | "else"), _):
            return is_about_types(value)
        case _:
            return True


def members(schema: Schema, keyword: str) -> Mapping[str, Json]:
    """Return a member that is an object."""
    value = schema.get(keyword)
    if isinstance(value, dict):
        return value
    return {}


def items(schema: Schema, keyword: str) -> list[Json]:
    """Return a member that is a list."""
    value = schema.get(keyword)
    if isinstance(value, list):
        return value
    return []


def kinds(schema: Schema) -> set[str]:
    """Return the kinds of values that a ``type`` allows."""
    value = schema.get("type")
    listed = value if isinstance(value, list) else [value]
    return {each for each in listed if isinstance(each, str)}


def value_kinds(schema: Schema) -> set[str]:
    """Return the same, where an integer is a number."""
    found = kinds(schema)
    if "integer" in found:
        return found - {"integer"} | {"number"}
    return found


def required(schemas: Iterable[Schema]) -> set[str]:
    """Return the names of the members that any of several schemas requires."""
    names = chain.from_iterable(items(schema, "required") for schema in schemas)
    return {name for name in names if isinstance(name, str)}


def is_old(draft: str) -> bool:
    """Tell whether a draft ignores keywords beside a ``$ref``."""
    return any(each in draft for each in _OLD_DRAFTS)


def text(schema: Schema | Json, keyword: str) -> str:
    """Return a member that is text."""
    value = schema.get(keyword) if isinstance(schema, Mapping) else None
    if isinstance(value, str):
        return value
    return ""
