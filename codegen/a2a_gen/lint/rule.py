"""A lint rule, and the contract that it checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from a2a_gen.ir.build import family_files
from a2a_gen.ir.model import Contract
from a2a_gen.ir.types import Record
from a2a_gen.problems import Level, Problem, Violation
from a2a_gen.source.documents import Document
from a2a_gen.source.references import Schema, iter_schemas


@dataclass(frozen=True, slots=True)
class LintContext:
    """A contract and the documents that it was built from."""

    contract: Contract
    documents: Mapping[str, Document]

    @property
    def family_documents(self) -> Mapping[str, Document]:
        """The files that define types."""
        return family_files(self.documents)

    def iter_schemas(self) -> Iterator[tuple[Document, Schema]]:
        """Iterate over every schema in every file of types."""
        for document in self.family_documents.values():
            yield from ((document, schema) for schema in iter_schemas(document.data))

    def iter_records(self) -> Iterator[tuple[str, Record]]:
        """Iterate over the records of every dialect."""
        for family in self.contract.families:
            yield from (
                (family.dialect, type_) for type_ in family.types if isinstance(type_, Record)
            )


@dataclass(frozen=True, slots=True)
class LintRule:
    """One rule: its check, the reason for it, and the cure."""

    id: str
    name: str
    level: Level
    check: Callable[[LintContext], Iterator[Violation]]
    why: str
    cure: str

    def find_problems(self, context: LintContext) -> Iterator[Problem]:
        """Apply the rule."""
        for place, text in self.check(context):
            yield Problem(place, f"{self.id} {self.name}", text, self.cure, self.level)
