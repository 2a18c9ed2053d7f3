"""Which files of an agent's project are its contract: those that its skills name, and those that these refer to.

Whatever else lies in the project is not: packages that were built, with copies of the schemas in them, settings of other tools, and what is broken.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping, Sequence

from a2a_gen.diff.schema_node import SchemaLocation, SchemaTree
from a2a_gen.problems import ContractError, Problem
from a2a_gen.source.documents import Document
from a2a_gen.source.references import iter_schemas


def select_reachable(addresses: Iterable[str], documents: Mapping[str, Document], problems: Mapping[str, Sequence[Problem]]) -> dict[str, Document]:
    """Follow references from the schemas at some addresses; raise what is wrong with files that they lead to."""
    tree = SchemaTree(documents)
    waiting = [posixpath.normpath(address.partition("#")[0]) for address in addresses]
    seen: set[str] = set()
    while waiting:
        path = waiting.pop()
        if path not in seen and (path in documents or path in problems):
            seen.add(path)
            waiting += _iter_referenced_files(tree, documents[path]) if path in documents else ()
    wrong = [problem for path in sorted(seen & problems.keys()) for problem in problems[path]]
    if wrong:
        raise ContractError(wrong)
    return {path: document for path, document in documents.items() if path in seen}


def _iter_referenced_files(tree: SchemaTree, document: Document) -> Iterable[str]:
    for schema in iter_schemas(document.data):
        reference = schema.members.get("$ref")
        if isinstance(reference, str):
            target = tree.resolve(SchemaLocation(document.path, schema.pointer, schema.data), reference)
            address = reference.partition("#")[0]
            yield target.file if target else posixpath.normpath(posixpath.join(posixpath.dirname(document.path), address))
