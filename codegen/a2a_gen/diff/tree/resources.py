"""Resources: the files of one side, and the schemas inside them that have an address of their own.

A schema with a ``$id`` is a resource. References inside it are relative to its address, and ``#/…``
begins at it.
Two keywords find their target by the path of a validation: ``$dynamicRef`` leads to one of the
schemas with that
``$dynamicAnchor``, ``$recursiveRef`` to one of the resources with a ``$recursiveAnchor``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import quote

from a2a_gen.source.documents import Document
from a2a_gen.source.json_text import Json
from a2a_gen.source.references import Schema, iter_schemas, join_address, split_fragment

Place: TypeAlias = tuple[str, str]
"""A file and a JSON pointer."""

DYNAMIC_KEYWORDS = ("$dynamicRef", "$recursiveRef")
_IGNORING_DRAFTS = ("draft-03", "draft-04", "draft-05", "draft-06", "draft-07")
"""Drafts in which a ``$id`` beside a ``$ref`` means nothing."""


@dataclass(frozen=True, slots=True)
class Resource:
    """A schema with an address: a file, or a part of it."""

    file: str
    pointer: str
    address: str


class ResourceMap:
    """The resources of some files, and the targets of dynamic references."""

    def __init__(self, documents: Mapping[str, Document]) -> None:
        self._by_file: dict[str, list[Resource]] = {}
        self._by_address: dict[str, Resource] = {}
        self._dynamic: dict[str, list[Place]] = {}
        self._recursive: list[Place] = []
        self.scoped_files: set[str] = set()
        """Files with references that depend on more than files and pointers."""
        for path, document in documents.items():
            self._read(path, document.data)

    def find_enclosing(self, file: str, pointer: str) -> Resource:
        """Find the innermost resource that contains a place."""
        for resource in reversed(self._by_file[file]):
            if (
                not resource.pointer
                or pointer == resource.pointer
                or pointer.startswith((f"{resource.pointer}/", f"{resource.pointer}#"))
            ):
                return resource
        return self._by_file[file][0]

    def find_embedded(self, base: Resource, address: str) -> Resource | None:
        """Find the schema inside a file that has an address."""
        return self._by_address.get(join_address(base.address, address))

    def iter_dynamic_targets(self, members: Mapping[str, Json]) -> Iterator[Place]:
        """Iterate over all schemas to which the dynamic references of a schema may lead."""
        reference = members.get("$dynamicRef")
        if isinstance(reference, str):
            yield from self._dynamic.get(split_fragment(reference)[1], ())
        if "$recursiveRef" in members:
            yield from self._recursive

    def _read(self, path: str, data: Json) -> None:
        found = self._by_file[path] = [Resource(path, "", find_address(path, data))]
        text = json.dumps(data)
        if any(f'"{keyword}"' in text for keyword in DYNAMIC_KEYWORDS):
            self.scoped_files.add(path)
        elif '"$id"' not in text:
            return
        draft = data.get("$schema") if isinstance(data, dict) else None
        is_old = isinstance(draft, str) and any(each in draft for each in _IGNORING_DRAFTS)
        for schema in iter_schemas(data):
            if schema.pointer:
                self._read_identity(path, schema, is_old=is_old)
            anchor = schema.members.get("$dynamicAnchor")
            if isinstance(anchor, str):
                self._dynamic.setdefault(anchor, []).append((path, schema.pointer))
            if schema.members.get("$recursiveAnchor") is True:
                self._recursive.append((path, schema.pointer))
        found.sort(key=lambda resource: len(resource.pointer))

    def _read_identity(self, path: str, schema: Schema, *, is_old: bool) -> None:
        identity = schema.members.get("$id")
        if not isinstance(identity, str):
            return
        self.scoped_files.add(path)
        address, _ = split_fragment(identity)
        if address and not (is_old and "$ref" in schema.members):
            base = self.find_enclosing(path, schema.pointer).address
            resource = Resource(path, schema.pointer, join_address(base, address))
            self._by_file[path].append(resource)
            self._by_address.setdefault(resource.address, resource)


def find_address(path: str, data: Json) -> str:
    """Find the address of a file, which is always absolute."""
    return split_fragment(
        join_address(f"http://a2a-gen.invalid/{quote(path)}", find_identity(data))
    )[0]


def find_identity(data: Json) -> str:
    """Find the address of a file: its ``$id``, which draft-04 calls ``id``; an empty string without
    one.
    """
    members = data if isinstance(data, dict) else {}
    is_old = any(draft in str(members.get("$schema")) for draft in ("draft-03", "draft-04"))
    identity = members.get("id" if is_old else "$id")
    if isinstance(identity, str):
        return identity
    return ""
