"""Functions for pairs of types that are not two records: tagged unions, bare values that ours
wraps, and enumerations.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from a2a_gen.emit.render import Code, literal
from a2a_gen.emit.translate.context import TranslationContext
from a2a_gen.emit.translate.expressions import function_name
from a2a_gen.emit.translate.members import RecordMembers, TypePair, WrapperMatch, pairs_in
from a2a_gen.emit.translate.rules import BRANCHES, Direction
from a2a_gen.emit.translate.steps import BranchStep, Function, Give, LookupTable, Step
from a2a_gen.ir.model import Alias, Enumeration, OneOf, Record, Ref, Translation

READ = Direction.READ
WRITE = Direction.WRITE


@dataclass(frozen=True, slots=True)
class Option:
    """One branch of a union of theirs: its pairs, and the members of ours that select it for
    writing.

    A branch is held by a member of ours, or its members lie flat in ours; one without members is
    only read.
    """

    branch: str
    pair: TypePair
    members: tuple[str, ...]
    is_held: bool


def options(ours: RecordMembers, translation: Translation) -> Iterator[Option]:
    """List the branches of a union as the table declares them, one per counterpart of a branch."""
    record = ours.record(translation.ours)
    for rule in translation.rules:
        if rule.kind not in BRANCHES:
            continue
        held: dict[str, str] = {}
        for member in rule.ours:
            field = record.field(member) if record else None
            inner = ours.records(field.type) if field else ()
            if inner:
                held[member] = inner[0].name
        for member, name in held.items():
            yield Option(rule.theirs[0], TypePair(rule.theirs[0], name), (member,), is_held=True)
        if not held:
            yield Option(
                rule.theirs[0], TypePair(rule.theirs[0], translation.ours), rule.ours, is_held=False
            )


def branches(theirs: RecordMembers, name: str) -> tuple[str, ...]:
    """List the types that a union of theirs allows; a record allows itself."""
    definition = theirs.contract.type(theirs.dialect, name)
    if isinstance(definition, Record):
        return (name,)
    if isinstance(definition, Alias) and isinstance(definition.type, OneOf):
        options = definition.type.options
    else:
        options = ()
    return tuple(option.name for option in options if isinstance(option, Ref))


def union_functions(
    context: TranslationContext, pair: TypePair, listed: tuple[Option, ...]
) -> Iterator[Function]:
    """Build both functions of a union."""
    ours = context.ours.record(pair.ours)
    order = {field.wire: place for place, field in enumerate(ours.fields)} if ours else {}
    python = {field.wire: field.python for field in ours.fields} if ours else {}
    read = tuple({option.branch: option for option in reversed(listed)}.values())[::-1]
    yield context.function(
        pair,
        READ,
        _reading(context, read, python),
        frozenset((option.pair, READ) for option in read),
    )
    steps = tuple(
        _writing(
            sorted(
                (option for option in listed if option.members),
                key=lambda option: order.get(option.members[0], 0),
            )
        )
    )
    uses = frozenset((option.pair, WRITE) for option in listed if option.members)
    yield context.function(pair, WRITE, (*steps, context.refuse_unknown(pair)), uses)


def _reading(
    context: TranslationContext, listed: tuple[Option, ...], python: Mapping[str, str]
) -> tuple[Step, ...]:
    steps = list[Step]()
    for option in listed:
        value = f"{function_name(option.pair, READ)}(theirs)"
        give = Give(
            Code(f"{{{literal(python[option.members[0]])}: {value}}}" if option.is_held else value)
        )
        is_last = option is listed[-1]
        if is_last:
            steps.append(give)
        else:
            is_branch = Code(f"isinstance(theirs, {context.theirs.dialect}.{option.branch})")
            steps.append(BranchStep(is_branch, (give,)))
    return tuple(steps)


def _writing(listed: Iterable[Option]) -> Iterator[Step]:
    for option in listed:
        there = " or ".join(f"{literal(member)} in ours" for member in option.members)
        source = f"ours[{literal(option.members[0])}]" if option.is_held else "ours"
        yield BranchStep(
            Code(there), (Give(Code(f"{function_name(option.pair, WRITE)}({source})")),)
        )


def wrapped_functions(
    context: TranslationContext, pair: TypePair, match: WrapperMatch
) -> Iterator[Function]:
    """Build both functions of a type that ours wraps."""
    needed = tuple(pairs_in(match))
    for direction, source in ((READ, "theirs"), (WRITE, "ours")):
        value = context.printer(direction).value(match, source)
        uses = frozenset((each, direction) for each in needed)
        types = None if direction is READ else ("base.JsonMembers", "list[dict[str, object]]")
        yield context.function(pair, direction, (Give(Code(value)),), uses, types=types)


# --- enumerations ---


@dataclass(frozen=True, slots=True)
class EnumFunction:
    """The corresponding words of two enumerations, for reading and for writing."""

    read: Mapping[str, str]
    write: Mapping[str, str]

    def lossy_words(
        self, theirs: Enumeration, ours: Enumeration
    ) -> Iterator[tuple[Direction, str]]:
        """List the words that do not survive a round trip."""
        for value in theirs.values:
            if self.write.get(self.read.get(value.wire, ""), value.wire) != value.wire:
                yield READ, value.wire
        for value in ours.values:
            word = self.write.get(value.wire, value.wire if theirs.is_open else None)
            if word is None or self.read.get(word, value.wire) != value.wire:
                yield WRITE, value.wire


def enum_functions(
    context: TranslationContext, theirs: Enumeration, ours: Enumeration
) -> EnumFunction:
    """Match the words: from the table of states, from the table of the dialect, or equal on both
    sides.
    """
    lifecycle = context.ours.contract.lifecycle
    dialect = context.theirs.dialect
    canonical = context.ours.dialect
    if ours.name == lifecycle.type:
        write = {
            state.spellings[canonical]: state.spellings[dialect]
            for state in lifecycle.states
            if dialect in state.spellings
        }
        read: dict[str, str] = {}
        for state in lifecycle.states:
            words = state.reads.get(dialect, ())
            read |= dict.fromkeys(words, state.spellings[canonical])
        if dialect in lifecycle.unknown:
            write.setdefault(lifecycle.unknown[canonical], lifecycle.unknown[dialect])
            read.setdefault(lifecycle.unknown[dialect], lifecycle.unknown[canonical])
        return EnumFunction(read, write)
    table = context.dialect.enums.get(theirs.name)
    if table is None:
        known = {value.wire for value in ours.values}
        same = {value.wire: value.wire for value in theirs.values if value.wire in known}
        return EnumFunction(same, same)
    return EnumFunction(
        table, {our_word: their_word for their_word, our_word in reversed(tuple(table.items()))}
    )


def enumeration_functions(
    context: TranslationContext,
    pair: TypePair,
    theirs: Enumeration,
    ours: Enumeration,
    found: EnumFunction,
) -> Iterator[Function]:
    """Build both functions of an enumeration; unknown words are kept if the target is open, and
    become the first of the table otherwise.
    """
    dialect = context.ours.dialect
    typed = f"{dialect}.{ours.name}"
    python = {value.wire: f"{typed}.{value.python}" for value in ours.values}
    read_name, write_name = (
        f"_{function_name(pair, direction).upper()}" for direction in (READ, WRITE)
    )
    items = ", ".join(
        f"{literal(word)}: {python[other]}" for word, other in found.read.items() if other in python
    )
    unknown = f"{typed}(theirs.value)" if ours.is_open else python[ours.values[0].wire]
    yield context.function(
        pair,
        READ,
        (Give(Code(f"{read_name}.get(theirs) or {unknown}")),),
        tables=(LookupTable(Code(read_name), Code(f"dict[str, {typed}]"), Code(f"{{{items}}}")),),
        types=(f"{context.theirs.dialect}.{theirs.name}", typed),
    )
    items = ", ".join(f"{literal(word)}: {literal(other)}" for word, other in found.write.items())
    if theirs.is_open:
        fallback = "ours"
    else:
        fallback = literal(found.write.get(ours.values[0].wire) or next(iter(found.read)))
    yield context.function(
        pair,
        WRITE,
        (Give(Code(f"{write_name}.get(ours) or {fallback}")),),
        tables=(LookupTable(Code(write_name), Code("dict[str, str]"), Code(f"{{{items}}}")),),
        types=("str", "str"),
    )
