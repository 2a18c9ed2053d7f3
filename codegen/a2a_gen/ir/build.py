"""From documents to the contract.

Building never fails halfway: what a table or a schema does not say becomes an empty value, and ``checks`` finds out afterwards, all at once, what
does not fit together. ``assemble`` gives both, for whoever has more rules to apply; ``build_contract`` is for everyone else.
"""

from __future__ import annotations

from collections.abc import Mapping

from a2a_gen.ir import checks, dialects, families, tables
from a2a_gen.ir.model import Contract, Family
from a2a_gen.ir.node import Node
from a2a_gen.problems import ContractError, Level, Place, Problem
from a2a_gen.source import references
from a2a_gen.source.documents import Document

_TABLES = ("dialects.json", "errors.json", "lifecycle.json", "operations.json")
_NOT_FAMILIES = frozenset({"meta"})


def build_contract(documents: Mapping[str, Document]) -> Contract:
    """Build the contract that some documents say, or raise everything that is wrong with them."""
    contract, problems = assemble(documents)
    if any(problem.level is Level.ERROR for problem in problems):
        raise ContractError(problems)
    return contract


def assemble(documents: Mapping[str, Document]) -> tuple[Contract, tuple[Problem, ...]]:
    """Build as much of a contract as the documents say, with everything that does not fit together."""
    dialect_table, errors, lifecycle, operations = (_table(documents, name) for name in _TABLES)
    known = tuple(dialects.dialects(dialect_table))
    error_rows = tuple(tables.errors(errors, known))
    contract = Contract(
        canonical=dialect_table["canonical"].text(),
        families=families.with_tags(families.with_scalars(_families(documents))),
        dialects=known,
        parameters=tuple(dialects.parameters(dialect_table)),
        reserved_tenants=dialect_table["reserved_tenants"].texts(),
        operations=tuple(tables.operations(operations, known)),
        error_root=tables.error_root(error_rows),
        error_domain=errors["domain"].text(),
        shared_codes=tuple(each.data for each in errors["shared_codes"].items() if isinstance(each.data, int)),
        errors=error_rows,
        lifecycle=tables.lifecycle(lifecycle),
    )
    missing = [
        Problem(Place(name), "A2A-C01", "this table is missing", "write it; meta/ has its schema") for name in _TABLES if name not in documents
    ]
    return contract, tuple(sorted({*missing, *references.unresolved(documents), *checks.check(contract)}))


def _families(documents: Mapping[str, Document]) -> tuple[Family, ...]:
    return tuple(families.build_family(_folder(path), document) for path, document in family_files(documents).items())


def family_files(documents: Mapping[str, Document]) -> Mapping[str, Document]:
    """Pick the files of types: those in the folder of a dialect."""
    return {path: document for path, document in documents.items() if _folder(path) and _folder(path) not in _NOT_FAMILIES}


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _table(documents: Mapping[str, Document], name: str) -> Node:
    document = documents.get(name, Document(name, "{}", {}))
    return Node(document, "", document.data)
