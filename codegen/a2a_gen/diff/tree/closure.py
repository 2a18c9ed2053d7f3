"""Schema files of an agent project: those that its skills name, and those that these refer to.

Other files in the project are not part of the contract: built packages with copies of the schemas,
settings of other tools, and invalid files.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from a2a_gen.diff.tree.schema_node import SchemaTree
from a2a_gen.problems import ContractError, Problem
from a2a_gen.source.documents import Document


def select_reachable(
    addresses: Iterable[str],
    documents: Mapping[str, Document],
    problems: Mapping[str, Sequence[Problem]],
) -> dict[str, Document]:
    """Follow references from the schemas at some addresses; raise the problems of every file on the
    way.
    """
    tree = SchemaTree(documents)
    pending = [posixpath.normpath(address.partition("#")[0]) for address in addresses]
    seen: set[str] = set()
    while pending:
        path = pending.pop()
        if path not in seen and (path in documents or path in problems):
            seen.add(path)
            pending += _iter_referenced_files(tree, path) if path in documents else ()
    wrong = list(chain.from_iterable(problems[path] for path in sorted(seen & problems.keys())))
    if wrong:
        raise ContractError(wrong)
    return {path: document for path, document in documents.items() if path in seen}


def _iter_referenced_files(tree: SchemaTree, path: str) -> Iterable[str]:
    for schema, reference in tree.iter_references(tree.get_root(path)):
        target = tree.resolve(schema, reference)
        address = reference.partition("#")[0]
        if target:
            yield target.file
        else:
            yield posixpath.normpath(posixpath.join(posixpath.dirname(path), address))
