"""Shared context of all functions of one dialect."""

from __future__ import annotations

from dataclasses import dataclass

from a2a_gen.emit.render import Code, literal
from a2a_gen.emit.translate.expressions import Printer, function_name
from a2a_gen.emit.translate.members import RecordMembers, TypePair
from a2a_gen.emit.translate.rules import Direction, TranslationProblems
from a2a_gen.emit.translate.steps import Function, LookupTable, Refuse, Step
from a2a_gen.ir.model import ContractDialect


@dataclass(frozen=True, slots=True)
class TranslationContext:
    """Both sides, their printers, and the collector of problems."""

    dialect: ContractDialect
    theirs: RecordMembers
    ours: RecordMembers
    positional: frozenset[TypePair]
    report: TranslationProblems

    def printer(self, direction: Direction) -> Printer:
        """Return the printer of expressions of one direction."""
        return Printer(direction, self.positional)

    def function(
        self,
        pair: TypePair,
        direction: Direction,
        steps: tuple[Step, ...],
        uses: frozenset[tuple[TypePair, Direction]] = frozenset(),
        tables: tuple[LookupTable, ...] = (),
        types: tuple[str, str] | None = None,
    ) -> Function:
        """Build a function with its name, and the types that it gets and returns: one of theirs or
        our JSON, and the members of the other side.
        """
        reads = direction is Direction.READ
        source, returned = types or (
            f"{self.theirs.dialect}.{pair.theirs}" if reads else "base.JsonMembers",
            "dict[str, object]",
        )
        position = ", position: int = 0" if not reads and pair in self.positional else ""
        return Function(
            pair=pair,
            direction=direction,
            name=Code(function_name(pair, direction)),
            parameters=Code(f"{'theirs' if reads else 'ours'}: {source}{position}"),
            returns=Code(returned),
            summary=self._summary(pair, direction),
            steps=steps,
            uses=uses - {(pair, direction)},
            tables=tables,
        )

    def _summary(self, pair: TypePair, direction: Direction) -> str:
        reads = direction is Direction.READ
        first, second = (pair.theirs, pair.ours) if reads else (pair.ours, pair.theirs)
        other = "" if first == second else f" as `{second}`"
        return (
            f"{'Read' if reads else 'Write'} `{first}` {'of' if reads else 'for'} "
            f"{self.dialect.title}{other}."
        )

    def find_otherwise(self, pair: TypePair) -> str | None:
        """Find the member of ours that stands for a value of theirs without any counterpart."""
        return next(
            (
                each.otherwise
                for each in self.dialect.translations
                if (each.theirs, each.ours) == (pair.theirs, pair.ours)
            ),
            None,
        )

    def refuse_unknown(self, pair: TypePair) -> Refuse:
        """Return the step that refuses a value without a counterpart."""
        text = f"{self.dialect.title} has no {pair.theirs} for this {pair.ours}"
        return Refuse(Code(f"conversions.UntranslatableError({literal(text)})"))
