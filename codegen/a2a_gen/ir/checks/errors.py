"""Errors: one hierarchy, and codes that a client can tell apart."""

from __future__ import annotations

from collections.abc import Iterator

from a2a_gen.ir.checks.repeats import repeats
from a2a_gen.ir.model import Contract
from a2a_gen.problems import Problem


def hierarchy(contract: Contract) -> Iterator[Problem]:
    """Every error stands below one that was listed before it, and there is one root."""
    for later, _ in repeats(contract.errors, lambda row: row.name.casefold()):
        yield Problem(later.place, "A2A-C20", f"error {later.name} is there twice", "delete or rename one of the two")
    before = {contract.error_root}
    for row in contract.errors:
        if row.parent not in before:
            cure = f"list the parent above it, or use {contract.error_root}"
            yield Problem(row.place, "A2A-C21", f"{row.name} stands below {row.parent}, which is not listed above it", cure)
        before.add(row.name)


def codes(contract: Contract) -> Iterator[Problem]:
    """In a dialect a code belongs to one error, unless the table lists it as shared, and so does a reason."""
    known = {dialect.name for dialect in contract.dialects}
    for dialect in dict.fromkeys(dialect for row in contract.errors for dialect in row.columns):
        rows = [row for row in contract.errors if dialect in row.columns]
        if dialect not in known:
            yield Problem(rows[0].place, "A2A-C22", f"there is no dialect {dialect}", f"use one of {', '.join(sorted(known))}")
            continue
        for column, shared in (("code", contract.shared_codes), ("reason", (None,))):
            own = [(row.columns[dialect][column], row) for row in rows if row.columns[dialect][column] not in shared]
            for (value, later), (_, first) in repeats(own, lambda pair: repr(pair[0])):
                text = f"{later.name} and {first.name} have the {column} {value} in {dialect}"
                cure = "give one of the two another" + (", or list it in shared_codes" if column == "code" else "")
                yield Problem(later.place, "A2A-C23", text, cure)
