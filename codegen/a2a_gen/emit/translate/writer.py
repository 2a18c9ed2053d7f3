"""Functions that write records, ours → theirs: the JSON of the dialect from that of the canonical
model, without any model.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from a2a_gen.emit.render import Code, literal
from a2a_gen.emit.translate.context import TranslationContext
from a2a_gen.emit.translate.expressions import empty_json, empty_value
from a2a_gen.emit.translate.links import (
    Case,
    Link,
    LinkedPair,
    MemberSource,
    ReadValue,
    cases,
    fills_empty,
    find_pairs,
)
from a2a_gen.emit.translate.members import (
    Each,
    Leaf,
    Match,
    Path,
    Same,
    Types,
    Values,
    is_plain,
)
from a2a_gen.emit.translate.reader import emit_derived_call
from a2a_gen.emit.translate.rules import Direction
from a2a_gen.emit.translate.steps import (
    BranchStep,
    Function,
    Give,
    Let,
    LookupTable,
    Make,
    Merge,
    Put,
    Step,
)
from a2a_gen.ir.model import Constant, Primitive, Record

WRITE = Direction.WRITE
OUT = Code("out")
_EPOCH = '"1970-01-01T00:00:00.000Z"'


@dataclass(frozen=True, slots=True)
class MemberEntry:
    """One member to write: its value, and the condition under which it has one."""

    leaf: Leaf
    value: str
    when: str | None = None


@dataclass(frozen=True, slots=True)
class Writer:
    """Builds the functions that write records."""

    context: TranslationContext

    def function(self, linked: LinkedPair, theirs: Record, *, is_flat: bool) -> Function:
        """Build the function of one pair; a flat one is only called for the members that it has
        links for.
        """
        source = MemberSource(self.context.ours, "ours", is_json=True)
        used = [link for link in linked.links if link.sets(WRITE)]
        source.open(chain.from_iterable(link.ours for link in used))
        steps: list[Step] = [
            Let(Code(each.name), Code(each.value)) for each in source.opened.values()
        ]
        for case in cases(linked, WRITE):
            inner = _Writing(self.context, linked, source, case).steps()
            if case.key:
                steps.append(BranchStep(Code(" and ".join(source.conditions(case.key))), inner))
            else:
                steps += inner
        if isinstance(steps[-1], BranchStep):
            has_otherwise = self.context.find_otherwise(linked.pair) is not None
            says_nothing = has_otherwise or (
                not is_flat and self.context.theirs.is_empty_valid(theirs)
            )
            steps.append(
                Give(Code("{}")) if says_nothing else self.context.refuse_unknown(linked.pair)
            )
        uses = frozenset((pair, WRITE) for pair in find_pairs(used))
        return self.context.function(
            linked.pair, WRITE, tuple(steps), uses, tuple(_tables(self.context, used))
        )


@dataclass(frozen=True, slots=True)
class _Writing:
    """One case of one function."""

    context: TranslationContext
    linked: LinkedPair
    source: MemberSource
    case: Case

    def steps(self) -> tuple[Step, ...]:
        lets: list[Step] = []
        merges: list[Step] = []
        entries: dict[Path, MemberEntry] = {}
        for link in self.case.links:
            lets += self._write_by_name(link)
            if link.kind == "derive":
                merges.append(Merge(OUT, Code(self._write_derived(link))))
            for entry in self._entries(link):
                entries.setdefault(entry.leaf.path, entry)
        merged = (link.theirs for link in self.case.links if link.kind == "derive")
        derived = {leaf.path for leaf in chain.from_iterable(merged)}
        listed: list[MemberEntry] = []
        for leaf in self.linked.theirs:
            if leaf.path not in derived:
                listed += self._write_list(leaf, entries)
        object_steps = self._object(OUT, listed, 0)
        match object_steps:
            case [Make(items=items)] if not merges:
                return (
                    *lets,
                    Give(Code(f"{{{', '.join(f'{key}: {value}' for key, value in items)}}}")),
                )
            case _:
                return (*lets, *object_steps, *merges, Give(OUT))

    def _write_list(self, leaf: Leaf, entries: dict[Path, MemberEntry]) -> Iterator[MemberEntry]:
        if self.case.lacks(leaf):
            return
        if isinstance(leaf.field.type, Constant):
            yield MemberEntry(leaf, literal(leaf.field.type.value))
        elif leaf.path in entries:
            yield entries[leaf.path]
        elif leaf.field.required and not leaf.last.is_chosen:
            text = (
                f"{self.linked.pair}: nothing is written to "
                f"{self.linked.pair.theirs}.{leaf.name}, which must be there"
            )
            self.context.report.add(
                self.linked.place,
                "A2A-T04",
                text,
                "write a rule that gives it a value, such as one of kind 'constant'",
            )

    def _object(self, name: Code, entries: list[MemberEntry], depth: int) -> list[Step]:
        """Build an object, and the nested objects that rules reach into."""
        inner: list[Step] = []
        items: list[tuple[Code, Code]] = []
        puts: list[Step] = []
        done = set[str]()
        for entry in entries:
            step = entry.leaf.steps[depth]
            key = literal(step.field.wire)
            value = entry.value
            when = entry.when
            if len(entry.leaf.steps) > depth + 1:
                if step.field.wire in done:
                    continue
                done.add(step.field.wire)
                value = f"{step.field.python}_out"
                when = value if step.is_nullable and not step.is_chosen else None
                inside = [
                    each
                    for each in entries
                    if each.leaf.path[: depth + 1] == entry.leaf.path[: depth + 1]
                ]
                inner += self._object(Code(value), inside, depth + 1)
            if when is None:
                items.append((key, Code(value)))
            else:
                puts.append(Put(name, key, Code(value), Code(when)))
        return [*inner, Make(name, tuple(items)), *puts]

    # --- links ---

    def _write_by_name(self, link: Link) -> list[Step]:
        if link.kind == "wrap":
            content, metadata = (self._value(leaf) for leaf in link.ours)
            data = self.context.printer(WRITE).value(
                link.match or Same(Primitive.ANY), content.text
            )
            call = (
                f"conversions.wrap({data}, {metadata.text}, {literal(link.argument['key'])}, "
                f"{literal(link.argument['mark'])})"
            )
            return [Let(Code("content, marks"), Code(call))]
        if link.kind == "entry":
            call = (
                f"conversions.entry({self._value(link.ours[0]).text}, "
                f"{literal(link.argument['key'])})"
            )
            return [Let(Code(link.theirs[0].field.python), Code(call))]
        return []

    def _entries(self, link: Link) -> Iterator[MemberEntry]:
        """List the members that a link writes; those that a function derives are merged as a
        whole.
        """
        target = link.theirs[0]
        match link.kind:
            case "derive":
                return
            case "rename":
                yield self._convert(link, target)
            case "wrap":
                yield MemberEntry(target, "content")
                yield MemberEntry(link.theirs[1], "marks", "marks is not None")
            case "resource":
                yield self._resource(link, target)
            case "state" | "position" | "constant":
                yield MemberEntry(target, self._write_constant(link))
            case _:
                yield self._write_with_rule(link, target)

    def _write_constant(self, link: Link) -> str:
        """Print a value that no member of ours holds."""
        match link.kind:
            case "state":
                path = "".join(f"[{literal(name)}]" for name in str(link.argument["of"]).split("."))
                return f"ours{path} in {_table_name(link)}"
            case "position":
                return "position"
            case _:
                return literal(link.argument["value"])

    def _write_with_rule(self, link: Link, target: Leaf) -> MemberEntry:
        """Print a value that changes its form."""
        value = self._value(link.ours[0])
        text = value.text
        present = value.present
        presence = value.presence if value.nullable else None
        match link.kind:
            case "not" if "absent" in link.argument:
                return MemberEntry(target, f"not {text}")
            case "not":
                return MemberEntry(target, f"not {present}", presence)
            case "only":
                if target.last.is_nullable:
                    return MemberEntry(target, f"[{present}]", text)
                return MemberEntry(target, f"[{present}] if {text} else []")
            case "milliseconds":
                return MemberEntry(target, f"conversions.milliseconds({present})", presence)
            case _:
                return MemberEntry(
                    target, target.field.python, f"{target.field.python} is not None"
                )

    def _resource(self, link: Link, target: Leaf) -> MemberEntry:
        values = {leaf.field.wire: self._value(leaf) for leaf in link.ours}
        words = str(link.argument["template"]).split("/")
        pieces: list[str] = []
        for word in words:
            value = values[word[1:-1]] if word.startswith("{") else ReadValue(literal(word))
            pieces.append(f"{value.text} or ''" if value.nullable else value.text)
        when = None
        if target.last.is_nullable:
            when = " or ".join(value.text for value in values.values())
        return MemberEntry(target, f"'/'.join(({', '.join(pieces)}))", when)

    def _write_derived(self, link: Link) -> str:
        return emit_derived_call(link, WRITE, [self._value(leaf).text for leaf in link.ours])

    def _value(self, leaf: Leaf) -> ReadValue:
        return self.source.value(
            leaf, self.source.known(self.case.key) if self.case.key else frozenset()
        )

    # --- from values to members ---

    def _convert(self, link: Link, target: Leaf) -> MemberEntry:
        """Print a value for a member, depending on the side that may omit it."""
        values = [self._value(leaf) for leaf in link.ours]
        if len(values) == 1:
            value = values[0]
        else:
            value = ReadValue(
                " or ".join(each.text for each in values), all(each.nullable for each in values)
            )
        match = link.match or Same(Primitive.OBJECT)
        printer = self.context.printer(WRITE)
        if not value.nullable:
            is_key = self.case.key in link.ours
            may_lack = (
                target.last.is_nullable
                and not is_key
                and fills_empty(link.ours[0].field.type, self.context.ours)
            )
            return MemberEntry(
                target, printer.value(match, value.text), value.text if may_lack else None
            )
        if target.last.is_nullable:
            return MemberEntry(target, printer.value(match, value.present), value.presence)
        return MemberEntry(target, self._require(value, match, target))

    def _require(self, value: ReadValue, match: Match, target: Leaf) -> str:
        """Print a value that may be absent for a member that is required."""
        printer = self.context.printer(WRITE)
        record = self.context.ours.record(match.pair.ours) if isinstance(match, Types) else None
        if record and self.context.ours.is_empty_valid(record):
            return printer.value(match, f"{value.text} or {{}}")
        if match == Same(Primitive.TIMESTAMP):
            return f"{value.text} or {_EPOCH}"
        empty = empty_value(match)
        if empty is not None and (is_plain(match) or isinstance(match, Each | Values)):
            return printer.value(match, f"{value.text} or {empty_json(match)}")
        text = f"{self.linked.pair}: {target.name} is required by them and optional for us"
        self.context.report.add(
            self.linked.place, "A2A-T04", text, "write a rule that gives it a value"
        )
        return value.text


def _tables(context: TranslationContext, links: Iterable[Link]) -> Iterator[LookupTable]:
    """Build the sets of states that rules of kind ``state`` use."""
    lifecycle = context.ours.contract.lifecycle
    dialect = context.ours.dialect
    for link in links:
        kinds = link.argument.get("kinds") if link.kind == "state" else None
        if isinstance(kinds, tuple | list):
            states = (
                literal(state.spellings[dialect])
                for state in lifecycle.states
                if state.kind in kinds
            )
            yield LookupTable(
                Code(_table_name(link)),
                Code("frozenset[str]"),
                Code(f"frozenset({{{', '.join(states)}}})"),
            )


def _table_name(link: Link) -> str:
    return f"_{link.theirs[0].field.python.upper()}_STATES"
