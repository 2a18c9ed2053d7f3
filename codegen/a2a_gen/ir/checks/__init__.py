"""Consistency checks of a contract: every name that a table uses is defined, and no name is
ambiguous.

A check is a pure function of the contract. It reports problems and never repairs them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from a2a_gen.ir.checks import operations, tables
from a2a_gen.ir.checks import operations as types
from a2a_gen.ir.extension import check_extensions
from a2a_gen.ir.model import Contract
from a2a_gen.problems import Problem

CHECKS: tuple[Callable[[Contract], Iterator[Problem]], ...] = (
    types.check_name_clashes,
    types.dialects_and_folders,
    types.extensions,
    tables.dialects,
    check_extensions,
    tables.translations,
    tables.losses,
    operations.types,
    operations.operation_names,
    operations.routes,
    operations.path_members,
    operations.capabilities,
    tables.hierarchy,
    tables.codes,
    tables.transitions,
    tables.spellings,
    tables.reads,
)


def check(contract: Contract) -> Iterator[Problem]:
    """Run every check."""
    for each in CHECKS:
        yield from each(contract)
