"""Self-contained schemas for validators and for the containment oracle: one schema and everything
that it refers to.

A schema is written in one of four forms:

    AS_WRITTEN   its set of documents
    SENT         the documents that a sender writes: no member that the schema neither describes nor
                 mentions, as ``required`` does; an object of which no member is described is free
    BRANCH       a schema that applies beside others to one value; ``SENT`` closes all of them once,
                 by ``unevaluatedProperties``
    LENIENT      the documents that a reader takes: defaults of ``x-a2a-read`` are filled in, values
                 of an ``x-extensible-enum`` may be unknown

Below ``not``, ``if``, ``contains`` and ``propertyNames`` a schema stays as written. Keywords of
drafts before 2020-12 are rewritten, since only later drafts can close an object over its branches.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from graphlib import CycleError, TopologicalSorter
from itertools import chain
from typing import TypeAlias
from urllib.parse import quote

import jsonschema_rs

from a2a_gen.diff.tree.member_names import MemberNames, as_list, as_table, descend, is_vacuous
from a2a_gen.diff.tree.resources import find_address
from a2a_gen.diff.tree.schema_node import (
    SchemaLocation,
    SchemaNode,
    SchemaTree,
    is_annotation,
    list_kinds,
)
from a2a_gen.diff.tree.value_set import find_tag_values
from a2a_gen.source.json_text import Json
from a2a_gen.source.references import iter_schemas

DRAFT = "https://json-schema.org/draft/2020-12/schema"
MAX_BUNDLED_SCHEMAS = 120
_MAX_MIXED_BRANCHES = 40
_OLD_DRAFTS = ("draft-03", "draft-04", "draft-05", "draft-06", "draft-07")
_CONTENT_KEYWORDS = frozenset({"contentEncoding", "contentMediaType"})
_UNIONS = ("anyOf", "oneOf")
_CHILD_KEYWORDS = frozenset(
    {"items", "prefixItems", "additionalProperties", "unevaluatedProperties", "unevaluatedItems"}
)
_IN_PLACE_KEYWORDS = frozenset({"allOf", "then", "else"})
_TESTED_KEYWORDS = frozenset({"not", "if", "contains", "propertyNames"})


class Form(Enum):
    """The documents that a bundle stands for."""

    AS_WRITTEN = "as written"
    BRANCH = "branch"
    SENT = "sent"
    LENIENT = "lenient"


FindAtoms: TypeAlias = Callable[[SchemaLocation, Form], "tuple[str, ...]"]
"""Returns the atoms that stand for a definition, or nothing to include the definition."""


class BundleTooLargeError(Exception):
    """A schema refers to more schemas than a bundle may hold."""


class SchemaBundle:
    """One schema and everything that it refers to.

    With ``member_names`` the schemas of other members are left out, which no document without those
    members can notice. ``mixed_names`` are the members that a sender may take from several
    alternatives of a union at once, if their schemas allow it; ``None`` stands for all. Above
    ``limit`` schemas, or ``max_branches`` branches of one union, building fails.
    """

    def __init__(
        self,
        tree: SchemaTree,
        *,
        member_names: frozenset[str] | None = None,
        mixed_names: frozenset[str] | None = None,
        find_atoms: FindAtoms | None = None,
        limit: int = MAX_BUNDLED_SCHEMAS,
        max_branches: int | None = None,
    ) -> None:
        self._tree = tree
        self._member_names = member_names
        self._mixed_names = mixed_names
        self._find_atoms = find_atoms
        self._atoms: dict[str, None] = {}
        self._limit = limit
        self._max_branches = max_branches
        self._numbers: dict[tuple[SchemaLocation, Form], int] = {}
        self._targets: dict[int, set[int]] = {}
        self._current_targets: set[int] = set()
        self._names = MemberNames(tree)
        self._old_files: dict[str, bool] = {}

    def build(
        self, schemas: Sequence[SchemaLocation], form: Form = Form.AS_WRITTEN
    ) -> dict[str, Json]:
        """Build the schema that all schemas apply together; raise ``BundleTooLargeError`` above the
        limit.
        """
        is_split = form is Form.SENT and len(schemas) > 1
        inner = Form.BRANCH if is_split else form
        parts: list[Json] = [self._refer(schema, inner) for schema in schemas]
        root: dict[str, Json] = {"allOf": parts}
        if is_split and any(map(self._names.list_described, schemas)):
            root = _close(root, frozenset[str]().union(*map(self._names.list_mentioned, schemas)))
        definitions: dict[str, Json] = {}
        pending = list(self._numbers)
        while pending:
            for schema, current in pending:
                self._targets[len(definitions)] = self._current_targets = set()
                definitions[str(len(definitions))] = self._write(schema, current)
            pending = list(self._numbers)[len(definitions) :]
        return {"$schema": DRAFT, **(root if schemas else {}), "$defs": definitions}

    def build_with_atoms(self, schemas: Sequence[SchemaLocation], form: Form) -> dict[str, Json]:
        """Build the same for the oracle, with definitions of its atoms; no validator may see
        those.
        """
        made = self.build(schemas, form)
        definitions = made["$defs"]
        return {
            **made,
            "$defs": {
                **(definitions if isinstance(definitions, dict) else {}),
                **_define_atoms(self._atoms),
            },
        }

    @property
    def is_recursive(self) -> bool:
        """True if a schema of the bundle refers to itself, directly or not."""
        try:
            TopologicalSorter(self._targets).prepare()
        except CycleError:
            return True
        return False

    def _refer(self, schema: SchemaLocation, form: Form) -> dict[str, Json]:
        number = self._numbers.setdefault((schema, form), len(self._numbers))
        if number >= self._limit and self._member_names is None:
            raise BundleTooLargeError
        self._current_targets.add(number)
        return {"$ref": f"#/$defs/{number}"}

    def _write(self, schema: SchemaLocation, form: Form, *, is_child: bool = False) -> Json:
        if not isinstance(schema.data, dict):
            return schema.data
        members = dict(_iter_constraints(schema.data, is_old=self._is_old(schema)))
        reference = members.get("$ref")
        if isinstance(reference, str) and len(members) == 1:
            return self._write_reference(schema, reference, form, is_child=is_child)
        if form is not Form.SENT or not self._names.list_described(schema):
            return self._write_members(schema, members, Form.BRANCH if form is Form.SENT else form)
        mixed = self._write_members(schema, members, Form.BRANCH)
        closed = _close(mixed, self._names.list_mentioned(schema))
        if self._has_own_names(schema, members):
            return closed
        chosen = self._write_members(schema, members, Form.BRANCH, union_form=Form.SENT)
        if self._is_chosen(schema, members):
            return chosen
        return {"anyOf": [chosen, closed]}

    def _write_reference(
        self, schema: SchemaLocation, reference: str, form: Form, *, is_child: bool
    ) -> dict[str, Json]:
        target = self._tree.resolve(schema, reference)
        if target is None:
            return self._add_atom((f"reference {reference}",))
        can_hide = form is Form.SENT or (
            form is not Form.BRANCH and (is_child or not self._tree.has_unevaluated)
        )
        atoms = self._find_atoms(target, form) if self._find_atoms and can_hide else ()
        if atoms:
            return self._add_atom(atoms)
        return self._refer(target, form)

    def _add_atom(self, names: tuple[str, ...]) -> dict[str, Json]:
        """Refer to schemas about which nothing is known, but that one name stands for one schema;
        several stand for their intersection.
        """
        self._atoms |= dict.fromkeys(names)
        return {"allOf": [{"$ref": f"#/$defs/{_quote(name)}"} for name in names]}

    def _write_members(
        self,
        schema: SchemaLocation,
        members: dict[str, Json],
        form: Form,
        union_form: Form | None = None,
    ) -> dict[str, Json]:
        """Write the keywords of a schema; its unions become parts of ``allOf``."""
        made: dict[str, Json] = {}
        parts: list[Json] = []
        for keyword, value in members.items():
            if keyword in _UNIONS and isinstance(value, list):
                if not (form is Form.LENIENT and schema.members.get("x-extensible-union") is True):
                    parts += self._write_union(schema, keyword, value, union_form or form)
            elif keyword == "$ref" and isinstance(value, str):
                parts.append(self._write_reference(schema, value, form, is_child=False))
            elif keyword == "allOf" and isinstance(value, list):
                parts += [self._write(descend(schema, each), form) for each in value]
            elif (
                form is Form.BRANCH
                and keyword in {"additionalProperties", "unevaluatedProperties"}
                and is_vacuous(value)
            ):
                # It names no member, so it is as good as absent.
                continue
            elif form is Form.LENIENT and keyword in {"required", "enum"}:
                made |= _relax(keyword, value, schema)
            else:
                made[keyword] = self._write_keyword(schema, keyword, value, form)
        if parts:
            return {**made, "allOf": parts}
        return made

    def _write_keyword(self, schema: SchemaLocation, keyword: str, value: Json, form: Form) -> Json:
        child_form = Form.SENT if form is Form.BRANCH else form
        if isinstance(value, dict) and keyword == "dependentSchemas":
            return {name: self._write(descend(schema, each), form) for name, each in value.items()}
        if isinstance(value, dict) and keyword in {"properties", "patternProperties"}:
            made: dict[str, Json] = {}
            for name, each in value.items():
                if keyword == "properties" and not self._is_wanted(name):
                    made[name] = True
                else:
                    made[name] = self._write(descend(schema, each), child_form, is_child=True)
            return made
        is_child = keyword in _CHILD_KEYWORDS
        inner = Form.AS_WRITTEN
        if is_child:
            inner = child_form
        elif keyword in _IN_PLACE_KEYWORDS:
            inner = form
        if keyword in _CHILD_KEYWORDS | _IN_PLACE_KEYWORDS | _TESTED_KEYWORDS:
            if isinstance(value, list):
                return [
                    self._write(descend(schema, each), inner, is_child=is_child) for each in value
                ]
            return self._write(descend(schema, value), inner, is_child=is_child)
        return value

    def _is_wanted(self, name: str) -> bool:
        return self._member_names is None or name in self._member_names

    def _write_union(
        self, schema: SchemaLocation, keyword: str, branches: list[Json], form: Form
    ) -> Iterator[Json]:
        if (
            self._max_branches is not None
            and len(branches) > self._max_branches
            and not all(map(_is_listed, branches))
        ):
            raise BundleTooLargeError
        located = [descend(schema, each) for each in branches]
        written: list[Json] = [self._write(each, form) for each in located]
        if keyword == "anyOf" or self._is_disjoint(located):
            yield {"anyOf": written}
            return
        if form not in {Form.AS_WRITTEN, Form.LENIENT}:
            yield {"anyOf": written}
            written = [self._write(each, Form.AS_WRITTEN) for each in located]
        yield {"oneOf": written}

    def _is_chosen(self, schema: SchemaLocation, members: dict[str, Json]) -> bool:
        """Return true if a sender cannot mix the members of several alternatives."""
        branches = _list_branches(schema, members)
        if self._mixed_names is not None and self._mixed_names.isdisjoint(
            self._names.list_described(schema) | self._names.list_mentioned(schema)
        ):
            return True
        return (
            len(branches) > _MAX_MIXED_BRANCHES
            or sum(map(self._is_open, branches)) <= 1
            or self._is_disjoint(branches)
        )

    def _is_open(self, schema: SchemaLocation) -> bool:
        final = self._follow(schema)
        return final.members.get("additionalProperties") is not False and bool(
            self._names.list_described(final)
        )

    def _is_disjoint(self, branches: Sequence[SchemaLocation]) -> bool:
        """Return true if all branches are objects with different values of one tag, or have
        different types; or if there is only one.
        """
        if len(branches) == 1:
            return True
        nodes = [self._follow(each) for each in branches]
        types = [each.members.get("type") for each in nodes]
        if all(isinstance(each, str) for each in types):
            kinds = frozenset[str]().union(*map(list_kinds, types))
            if len(kinds) == len(types):
                return True
        if any(each != "object" for each in types):
            return False
        tags = [find_tag_values(SchemaNode((each,))) for each in nodes]
        for name in tags[0] if tags else ():
            if all(name in each for each in tags):
                values = list(chain.from_iterable(each[name] for each in tags))
                if len(values) == len(set(values)):
                    return True
        return False

    def _follow(self, schema: SchemaLocation) -> SchemaLocation:
        for _ in range(8):
            reference = schema.members.get("$ref")
            target = self._tree.resolve(schema, reference) if isinstance(reference, str) else None
            if target is None or any(
                not is_annotation(each) for each in schema.members if each != "$ref"
            ):
                break
            schema = target
        return schema

    def _has_own_names(self, schema: SchemaLocation, members: dict[str, Json]) -> bool:
        """Return true if a sender may write members that no alternative of a union beside them
        names.
        """
        rest = {keyword: value for keyword, value in members.items() if keyword not in _UNIONS}
        own = SchemaLocation(schema.file, f"{schema.pointer}#own", rest)
        if self._names.list_described(own) or self._names.describes_others(own):
            return True
        branches = _list_branches(schema, members)
        return not all(
            self._names.list_mentioned(own)
            <= self._names.list_described(each) | self._names.list_mentioned(each)
            for each in branches
        )

    def _is_old(self, schema: SchemaLocation) -> bool:
        if schema.file not in self._old_files:
            root = self._tree.documents[schema.file].data
            draft = root.get("$schema") if isinstance(root, dict) else None
            self._old_files[schema.file] = isinstance(draft, str) and any(
                each in draft for each in _OLD_DRAFTS
            )
        return self._old_files[schema.file]


def build_scoped(
    tree: SchemaTree, schemas: Sequence[SchemaLocation]
) -> tuple[dict[str, Json], jsonschema_rs.Registry]:
    """Build a schema that refers to the documents as they are, for trees whose references depend on
    scopes; it has no other forms.
    """
    addresses = {
        path: find_address(path, document.data) for path, document in tree.documents.items()
    }
    resources = [
        (addresses[path], _drop_content_keywords(document.data))
        for path, document in tree.documents.items()
    ]
    parts: list[Json] = [
        {"$ref": f"{addresses[each.file]}#{quote(each.pointer, safe='/~')}"} for each in schemas
    ]
    return {"$schema": DRAFT, **({"allOf": parts} if parts else {})}, jsonschema_rs.Registry(
        resources
    )


def _drop_content_keywords(document: Json) -> Json:
    """Return a document without keywords that refuse no value, though the validator of older drafts
    asserts them.
    """
    if all(_CONTENT_KEYWORDS.isdisjoint(each.members) for each in iter_schemas(document)):
        return document
    made = copy.deepcopy(document)
    for schema in [*iter_schemas(made)]:
        for keyword in _CONTENT_KEYWORDS & schema.members.keys():
            del schema.members[keyword]
    return made


def _define_atoms(names: Iterable[str]) -> dict[str, Json]:
    """Define atoms: each is recursive, which the oracle never unfolds, and has one value that no
    schema mentions.
    """
    return {
        _key(name): {
            "anyOf": [{"const": f"urn:a2a-gen:atom:{name}"}, {"$ref": f"#/$defs/{_quote(name)}"}]
        }
        for name in sorted(names)
    }


def _key(name: str) -> str:
    return f"atom {name}"


def _quote(name: str) -> str:
    return quote(_key(name).replace("~", "~0").replace("/", "~1"), safe="~")


def _close(members: dict[str, Json], mentioned: frozenset[str]) -> dict[str, Json]:
    """Refuse all members that a schema neither describes nor mentions."""
    if not members.keys().isdisjoint({"unevaluatedProperties", "additionalProperties"}):
        # It describes all members already.
        return members
    table = {**dict.fromkeys(sorted(mentioned), True), **as_table(members.get("properties"))}
    return {**members, **({"properties": table} if table else {}), "unevaluatedProperties": False}


def _list_branches(schema: SchemaLocation, members: dict[str, Json]) -> list[SchemaLocation]:
    branches = chain.from_iterable(as_list(members.get(keyword)) for keyword in _UNIONS)
    return [descend(schema, each) for each in branches]


def _is_listed(branch: Json) -> bool:
    return isinstance(branch, dict) and bool(branch.keys() & {"const", "enum"})


def _relax(keyword: str, value: Json, schema: SchemaLocation) -> dict[str, Json]:
    if keyword == "enum":
        if schema.members.get("x-extensible-enum") is True:
            return {}
        return {keyword: value}
    defaults = schema.members.get("x-a2a-read")
    return {
        keyword: [
            each for each in as_list(value) if not (isinstance(defaults, dict) and each in defaults)
        ]
    }


def _iter_constraints(members: dict[str, Json], *, is_old: bool) -> Iterator[tuple[str, Json]]:
    """Iterate over the keywords that constrain values, in the form of draft 2020-12."""
    if is_old and isinstance(members.get("$ref"), str):
        # Old drafts ignore the keywords beside it.
        yield "$ref", members["$ref"]
        return
    for keyword, value in members.items():
        if keyword == "items" and isinstance(value, list):
            yield "prefixItems", value
        elif keyword == "additionalItems":
            if isinstance(members.get("items"), list):
                yield "items", value
        elif keyword == "dependencies" and isinstance(value, dict):
            yield (
                "dependentRequired",
                {name: each for name, each in value.items() if isinstance(each, list)},
            )
            yield (
                "dependentSchemas",
                {name: each for name, each in value.items() if not isinstance(each, list)},
            )
        elif keyword in {"minimum", "maximum"} and members.get(_exclusive(keyword)) is True:
            yield _exclusive(keyword), value
        elif keyword.startswith("exclusive") and isinstance(value, bool):
            continue
        elif not is_annotation(keyword):
            yield keyword, value


def _exclusive(keyword: str) -> str:
    return f"exclusive{keyword.capitalize()}"
