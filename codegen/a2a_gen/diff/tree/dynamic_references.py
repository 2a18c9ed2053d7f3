"""References by dynamic scope, written as plain ones where every dynamic anchor is unique.

``$dynamicRef`` leads to the outermost of several schemas that have the same ``$dynamicAnchor``, and
``$recursiveRef`` to the outermost file with ``$recursiveAnchor``. Where there is one such schema
only, both are ``$ref``, and the comparison can follow them.
"""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from a2a_gen.source.documents import Document
from a2a_gen.source.json_text import Json
from a2a_gen.source.references import iter_schemas

_KEYWORDS = ("$dynamicRef", "$recursiveRef")


def follow_unique_anchors(documents: Mapping[str, Document]) -> Mapping[str, Document]:
    """Write references by dynamic scope as ``$ref``; where an anchor is not unique, or a file has a
    ``$id`` inside, leave them.
    """
    scoped: list[str] = []
    for path, document in documents.items():
        text = json.dumps(document.data)
        if any(f'"{keyword}"' in text for keyword in _KEYWORDS):
            scoped.append(path)
    if not scoped or not _has_unique_anchors(documents):
        return documents
    return {**documents, **{path: _follow_anchors(documents[path]) for path in scoped}}


def _has_unique_anchors(documents: Mapping[str, Document]) -> bool:
    anchors = Counter[str]()
    for document in documents.values():
        for schema in iter_schemas(document.data):
            if schema.pointer and "$id" in schema.members:
                return False
            anchors[str(schema.members.get("$dynamicAnchor", ""))] += (
                "$dynamicAnchor" in schema.members
            )
            anchors["$recursiveAnchor"] += schema.members.get("$recursiveAnchor") is True
    return max(anchors.values(), default=0) <= 1


def _follow_anchors(document: Document) -> Document:
    data = copy.deepcopy(document.data)
    for schema in [*iter_schemas(data)]:
        for keyword in _KEYWORDS:
            target = schema.members.pop(keyword, None)
            if isinstance(target, str):
                _add_reference(schema.members, target)
    return replace(document, data=data)


def _add_reference(members: dict[str, Json], target: str) -> None:
    if "$ref" in members:
        parts = members.get("allOf")
        members["allOf"] = [*(parts if isinstance(parts, list) else []), {"$ref": target}]
    else:
        members["$ref"] = target
