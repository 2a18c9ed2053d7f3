"""What a rule is, and what it looks at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from a2a_gen.ir.build import family_files
from a2a_gen.ir.model import Contract
from a2a_gen.ir.types import Record
from a2a_gen.problems import Finding, Level, Problem
from a2a_gen.source.documents import Document
from a2a_gen.source.references import Schema, schemas


@dataclass(frozen=True, slots=True)
class Subject:
    """A contract and the documents that it was built from."""

    contract: Contract
    documents: Mapping[str, Document]

    @property
    def families(self) -> Mapping[str, Document]:
        """The files of types."""
        return family_files(self.documents)

    def schemas(self) -> Iterator[tuple[Document, Schema]]:
        """Go through every schema in every file of types."""
        for document in self.families.values():
            yield from ((document, schema) for schema in schemas(document.data))

    def records(self) -> Iterator[tuple[str, Record]]:
        """Go through the records of every dialect."""
        for family in self.contract.families:
            yield from ((family.dialect, named) for named in family.types if isinstance(named, Record))


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing that a contract may not say, why, and what to do instead."""

    id: str
    name: str
    level: Level
    check: Callable[[Subject], Iterator[Finding]]
    why: str
    cure: str

    def problems(self, subject: Subject) -> Iterator[Problem]:
        """Apply the rule."""
        for place, text in self.check(subject):
            yield Problem(place, f"{self.id} {self.name}", text, self.cure, self.level)
