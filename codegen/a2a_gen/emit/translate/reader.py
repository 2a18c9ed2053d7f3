"""Functions that read records, theirs → ours: the members of a canonical model, which is validated
once as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain

from a2a_gen.emit.render import Code, literal
from a2a_gen.emit.translate.context import TranslationContext
from a2a_gen.emit.translate.expressions import empty_value, print_plain_value
from a2a_gen.emit.translate.links import (
    Case,
    Link,
    LinkedPair,
    MemberSource,
    ReadValue,
    cases,
    enumeration,
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
from a2a_gen.emit.translate.rules import Direction
from a2a_gen.emit.translate.steps import BranchStep, Function, Give, Let, Step
from a2a_gen.ir.model import Primitive, Record

READ = Direction.READ
_NO_TEXT = '""'


@dataclass(frozen=True, slots=True)
class Reader:
    """Builds the functions that read records."""

    context: TranslationContext

    def function(self, linked: LinkedPair, ours: Record) -> Function:
        """Build the function of one pair."""
        source = MemberSource(self.context.theirs, "theirs")
        used = [link for link in linked.links if link.sets(READ)]
        source.open(chain.from_iterable(link.theirs for link in used))
        steps: list[Step] = [
            Let(Code(each.name), Code(each.value)) for each in source.opened.values()
        ]
        seen = set[str]()
        for case in cases(linked, READ):
            key = case.link.theirs[0] if case.link else None
            conditions = source.conditions(key) if key else ()
            seen |= {key.last.option} if key and key.last.option else set()
            inner = _Reading(self.context, linked, source, case).steps()
            if not conditions or (key and self._is_last(key, seen)):
                steps += inner
                break
            steps.append(BranchStep(Code(" and ".join(conditions)), inner))
        else:
            steps.append(Give(Code(self._empty(linked, ours))))
        uses = frozenset((pair, READ) for pair in find_pairs(used))
        return self.context.function(linked.pair, READ, tuple(steps), uses)

    def _empty(self, linked: LinkedPair, ours: Record) -> str:
        """Print the value for a union without a known member; without a member of ours for it, a
        validation error names what is missing.
        """
        field = ours.field(self.context.find_otherwise(linked.pair) or "")
        if field is None:
            return "{}"
        return f"{{{literal(field.python)}: {{}}}}"

    def _is_last(self, key: Leaf, seen: set[str]) -> bool:
        """Check that a member lies in the last remaining record of several."""
        if key.last.option is None or key.last.is_nullable:
            return False
        return {
            record.name for record in self.context.theirs.records(key.steps[-2].field.type)
        } == seen


@dataclass(frozen=True, slots=True)
class _Reading:
    """One case of one function."""

    context: TranslationContext
    linked: LinkedPair
    source: MemberSource
    case: Case

    def steps(self) -> tuple[Step, ...]:
        lets: list[Step] = []
        given: dict[Path, list[tuple[ReadValue, Match | None]]] = {}
        wrapped = set[Path]()
        for link in self.case.links:
            found = self._read_by_name(link)
            lets += [found[0]] if found[0] else []
            for leaf, value in zip(link.ours, found[1], strict=False):
                if leaf.path not in wrapped:
                    given.setdefault(leaf.path, []).append((value, link.match))
            wrapped |= {leaf.path for leaf in link.ours} if link.kind == "wrap" else set()
        members: list[tuple[Leaf, str]] = []
        for leaf in self.linked.ours:
            text = self._member(leaf, given.get(leaf.path, []))
            if text:
                members.append((leaf, text))
        return (*lets, Give(Code(self._collect(members, 0))))

    def _collect(self, members: list[tuple[Leaf, str]], depth: int) -> str:
        """Print the members of a record, and of the nested ones that a rule reaches into, under
        their Python names.
        """
        items = list[str]()
        done = set[str]()
        for leaf, text in members:
            step = leaf.steps[depth]
            if len(leaf.steps) == depth + 1:
                items.append(f"{literal(step.field.python)}: {text}")
            elif step.field.wire not in done:
                done.add(step.field.wire)
                inner = [
                    (each, value)
                    for each, value in members
                    if each.path[: depth + 1] == leaf.path[: depth + 1]
                ]
                items.append(f"{literal(step.field.python)}: {self._collect(inner, depth + 1)}")
        return f"{{{', '.join(items)}}}"

    def _member(self, leaf: Leaf, found: list[tuple[ReadValue, Match | None]]) -> str | None:
        if self.case.lacks(leaf):
            return None
        if not found:
            self._check_may_lack(leaf)
            return None
        if len(found) == 1:
            (value, match), *_ = found
            return self._convert(value, match, leaf)
        empty = "None" if leaf.last.is_nullable else _NO_TEXT
        return " or ".join([*(value.text for value, _ in found), empty])

    def _check_may_lack(self, leaf: Leaf) -> None:
        if leaf.field.required and not leaf.field.has_read_default and not leaf.last.is_chosen:
            member = f"{self.linked.pair.ours}.{leaf.name}"
            text = f"{self.linked.pair}: nothing is read into {member}, which must be there"
            self.context.report.add(
                self.linked.place, "A2A-T04", text, "write a rule that gives it a value"
            )

    # --- values ---

    def _read_by_name(self, link: Link) -> tuple[Let | None, list[ReadValue]]:
        """Return the values of a link by target; a function with several results gets local names
        first.
        """
        value = (
            self.source.value(link.theirs[0], self._known_expressions())
            if link.theirs
            else ReadValue("")
        )
        match link.kind:
            case "wrap":
                metadata = self.source.value(link.theirs[1], self._known_expressions())
                call = (
                    f"conversions.unwrap({value.text}, {metadata.text}, "
                    f"{literal(link.argument['key'])}, {literal(link.argument['mark'])})"
                )
                return Let(Code("content, marks"), Code(call)), [
                    ReadValue("content"),
                    ReadValue("marks", nullable=True),
                ]
            case "resource":
                names = [
                    f"{link.theirs[0].field.python}_{leaf.field.python.rstrip('_')}"
                    for leaf in link.ours
                ]
                call = f"conversions.resource({value.text}, {resource_template(link)})"
                return Let(
                    Code(f"({', '.join(names)},)" if len(names) == 1 else ", ".join(names)),
                    Code(call),
                ), [ReadValue(name) for name in names]
            case "derive" if len(link.ours) > 1:
                names = [leaf.field.python for leaf in link.ours]
                return Let(Code(", ".join(names)), Code(self._read_derived(link))), list(
                    map(ReadValue, names)
                )
            case _:
                return None, [self._simple(link, value)] * max(1, len(link.ours))

    def _simple(self, link: Link, value: ReadValue) -> ReadValue:
        """Return the value of a link with one source and one target."""
        text = value.text
        match link.kind:
            case "not" if "absent" in link.argument:
                text = f"{text} is False" if link.argument["absent"] is True else f"not {text}"
            case "not":
                text = _unless_none(value, f"not {text}")
            case "only":
                text = (
                    f"{text}[0] if {text} else "
                    f"{'None' if link.ours[0].last.is_nullable else _NO_TEXT}"
                )
            case "milliseconds":
                text = _unless_none(value, f"conversions.moment({text})")
            case "entry":
                text = _unless_none(value, f"{{{literal(link.argument['key'])}: {text}}}")
            case "fresh":
                text = "conversions.fresh_id()"
            case "derive":
                text = self._read_derived(link)
            case _:
                return value
        return ReadValue(text)

    def _read_derived(self, link: Link) -> str:
        values = (
            (self.source.value(leaf, self._known_expressions()), leaf) for leaf in link.theirs
        )
        arguments = [
            _unless_none(value, print_plain_value(leaf.field.type, value.text))
            for value, leaf in values
        ]
        return emit_derived_call(link, READ, arguments)

    def _known_expressions(self) -> frozenset[str]:
        if self.case.link:
            return self.source.known(self.case.link.theirs[0])
        return frozenset()

    # --- from values to members ---

    def _convert(self, value: ReadValue, match: Match | None, leaf: Leaf) -> str:
        """Print a value for a member, depending on the side that may omit it."""
        is_key = leaf is self.case.key
        if match is None:
            match = Same(Primitive.OBJECT)
        printer = self.context.printer(READ)
        if not value.nullable:
            text = printer.value(match, value.text)
            drops_empty = (
                leaf.last.is_nullable
                and not is_key
                and fills_empty(leaf.field.type, self.context.ours)
                and " if " not in text
            )
            if drops_empty:
                return f"{text} or None"
            return text
        if leaf.last.is_nullable and not is_key:
            if not is_plain(match):
                return _unless_none(value, printer.value(match, value.text))
            return value.text
        return self._require(value, match, leaf)

    def _require(self, value: ReadValue, match: Match, leaf: Leaf) -> str:
        """Print a value that may be absent for a member that is required."""
        printer = self.context.printer(READ)
        words = enumeration(leaf.field.type, self.context.ours)
        if words:
            default = next(
                (each for each in words.values if each.wire == leaf.field.read_default),
                words.values[0],
            )
            return (
                f"{self.context.ours.dialect}.{words.name}.{default.python} if {value.text} is "
                f"None else {printer.value(match, value.text)}"
            )
        record = self.context.theirs.record(match.pair.theirs) if isinstance(match, Types) else None
        # An empty union raises a validation error that names what is missing.
        if record and (record.choice or self.context.theirs.is_empty_valid(record)):
            return printer.value(match, f"{value.text} or {self.context.theirs.empty(record)}")
        empty = empty_value(match)
        if empty is not None and (is_plain(match) or isinstance(match, Each | Values)):
            return printer.value(match, f"{value.text} or {empty}")
        text = f"{self.linked.pair}: {leaf.name} is required by us and optional for them"
        self.context.report.add(
            self.linked.place,
            "A2A-T04",
            text,
            "make it required in the schema of the dialect, or write a rule that gives it a value",
        )
        return value.text


def resource_template(link: Link) -> str:
    """Print the template of a resource name as words, with ``None`` for parameters."""
    words: list[str | None] = [*str(link.argument["template"]).split("/")]
    for index, word in enumerate(words):
        if word and word.startswith("{"):
            words[index] = None
    return literal(tuple(words))


def emit_derived_call(link: Link, direction: Direction, arguments: list[str]) -> str:
    """Print the call of a function of ``conversions``, with the settings of the table."""
    given = link.argument.get("given")
    if isinstance(given, Mapping):
        settings = [f"{name}={literal(value)}" for name, value in given.items()]
    else:
        settings = []
    return f"conversions.{direction}_{link.argument['by']}({', '.join([*arguments, *settings])})"


def _unless_none(value: ReadValue, text: str) -> str:
    if value.nullable and text != value.text:
        return f"None if {value.text} is None else {text}"
    return text
