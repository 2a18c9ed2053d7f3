"""The containment oracle: whether every document of one schema is one of another.

Containment confirms, rules explain.

``jsonschema_rs`` decides containment of two self-contained schemas: yes, no or unknown. It is right
where it answers, and says nothing about place, direction or cure; those come from the rules. What
it cannot decide is recursion. A definition is therefore also compared with *atoms* in place of the
definitions that it refers to:

    equal definitions       the same atom on both sides
    contained definitions   sender: X and Y, reader: X          the first is contained in the
                                                                second, whatever X and Y are
    other definitions       two atoms

Containment of all definitions is assumed first; a definition that cannot be proven so is taken out,
and those that referred to it are tried again, until nothing changes. The rest is proven by
induction on the depth of a document, since a reference to a value inside is one level deeper. An
atom can prove containment, never disprove it.

Two questions are asked for each direction. *Strict*: every document of the schema. *Sent*: every
document that a sender writes, who names no members that its schema does not name, to a reader with
its documented tolerance.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import jsonschema_rs

from a2a_gen.diff.change import NodePair
from a2a_gen.diff.documents.canonical_schemas import (
    CanonicalSchemas,
    Containment,
    Schemas,
    decide_covers,
)
from a2a_gen.diff.equality import NOT_MONOTONE, SchemaEquality
from a2a_gen.diff.tree import canonical
from a2a_gen.diff.tree.bundle import Form
from a2a_gen.diff.tree.schema_node import SchemaLocation, SchemaTree, is_annotation
from a2a_gen.source.json_text import Json, parse
from a2a_gen.source.references import iter_schemas

_OF_PARTS = frozenset(
    """
    additionalProperties const enum format items maxItems maxLength maxProperties minItems
    minLength minProperties pattern properties required type uniqueItems
    """.split()  # noqa: SIM905 - a list would take a line for each
)
"""Keywords that do not depend on each other, but for the names that ``properties`` takes out of
``additionalProperties``.
"""


@dataclass(frozen=True, slots=True)
class ContainmentQuestion:
    """DocumentDirection and kind of a question: documents of ``sender`` (0: the base) go to the
    other side.
    """

    sender: int
    is_strict: bool = False

    @property
    def forms(self) -> tuple[Form, Form]:
        """The forms of the sender's and of the reader's schema."""
        if self.is_strict:
            return (Form.AS_WRITTEN, Form.AS_WRITTEN)
        return (Form.SENT, Form.LENIENT)


@dataclass(slots=True)
class _Definition:
    """A definition of both sides; ``users`` were proven with an atom for it."""

    schemas: tuple[SchemaLocation, SchemaLocation]
    is_same: bool
    users: set[int] = field(default_factory=set[int])
    parts: frozenset[int] | None = None
    """The definitions that it grows and shrinks with, where its own text is equal on both sides;
    else ``None``.
    """


class ContainmentOracle:
    """Decides containment between two trees; answers are cached."""

    def __init__(
        self,
        trees: tuple[SchemaTree, SchemaTree],
        equality: SchemaEquality,
        pairs: Sequence[NodePair],
    ) -> None:
        self._trees = trees
        self._equality = equality
        self._monotone: dict[tuple[int, SchemaLocation], bool] = {}
        self._definitions = [
            _Definition(ends, equality.is_same(*ends))
            for ends in map(get_ends, pairs)
            if ends is not None
        ]
        self._numbers: tuple[dict[SchemaLocation, int], dict[SchemaLocation, int]] = (
            {each.schemas[0]: index for index, each in enumerate(self._definitions)},
            {each.schemas[1]: index for index, each in enumerate(self._definitions)},
        )
        for each in self._definitions:
            each.parts = self._find_parts(each, equality)
        self._canonical = CanonicalSchemas(trees)
        self._has_found_equal = False
        self._assumed: dict[ContainmentQuestion, frozenset[int]] = {}
        self._proven: dict[ContainmentQuestion, frozenset[int]] = {}
        self._answers: dict[tuple[ContainmentQuestion, Schemas, Schemas], Containment] = {}

    def _find_parts(
        self, definition: _Definition, equality: SchemaEquality
    ) -> frozenset[int] | None:
        references = None if definition.is_same else equality.find_references(*definition.schemas)
        numbers = [
            (self._numbers[0].get(old), self._numbers[1].get(new)) for old, new in references or ()
        ]
        parts = frozenset(old for old, new in numbers if old is not None and old == new)
        if references is not None and len(parts) == len(set(numbers)):
            return parts
        return None

    def _has_parts_in(self, index: int, is_in: Callable[[int], bool]) -> bool:
        parts = self._definitions[index].parts
        return parts is not None and all(map(is_in, parts))

    def assume(self, question: ContainmentQuestion, pairs: Iterable[NodePair]) -> None:
        """Take containment of definitions for granted, since their breaks are reported; what
        contains them is then judged without them.
        """
        ends = (get_ends(pair) for pair in pairs)
        self._assumed[question] = frozenset(
            self._numbers[0][each[0]] for each in ends if each and each[0] in self._numbers[0]
        )

    def decide(self, pair: NodePair, question: ContainmentQuestion) -> Containment:
        """Decide if the reader accepts every document of the sender at a pair of nodes."""
        schemas = get_schemas(pair)
        key = (question, *schemas)
        if key not in self._answers:
            self._answers[key] = self._decide(schemas, question)
        return self._answers[key]

    def _decide(
        self, schemas: tuple[Schemas, Schemas], question: ContainmentQuestion
    ) -> Containment:
        if self._canonical.has_scopes:
            return self._decide_whole(schemas, replace(question, is_strict=True))
        for each in dict.fromkeys((replace(question, is_strict=True), question)):
            if self._decide_with_atoms(schemas, each) is Containment.YES:
                return Containment.YES
        return self._decide_whole(schemas, question)

    def find_difference(self, pair: NodePair, question: ContainmentQuestion) -> Json:
        """Return a schema of the documents that only the sender accepts; ``False`` if it cannot be
        expressed.
        """
        ends = self._canonicalize_ends(get_schemas(pair), question)
        if ends is None:
            return False
        try:
            difference = ends[0].subtract(ends[1]).to_json_schema()
        except (ValueError, TypeError):
            return False
        return parse(json.dumps(difference))[0]

    def _decide_whole(
        self, schemas: tuple[Schemas, Schemas], question: ContainmentQuestion
    ) -> Containment:
        ends = self._canonicalize_ends(schemas, question)
        if ends is None:
            return Containment.UNKNOWN
        return decide_covers(ends[1], ends[0])

    def _canonicalize_ends(
        self, schemas: tuple[Schemas, Schemas], question: ContainmentQuestion
    ) -> tuple[jsonschema_rs.CanonicalSchema, jsonschema_rs.CanonicalSchema] | None:
        """Canonicalize the schemas of the sender and of the reader."""
        sender = question.sender
        reader = 1 - question.sender
        sent = self._canonical.get(sender, schemas[sender], question.forms[0])
        if sent is None:
            return None
        taken = self._canonical.get(reader, schemas[reader], question.forms[1])
        if taken is None:
            return None
        return (sent, taken)

    def _decide_with_atoms(
        self, schemas: tuple[Schemas, Schemas], question: ContainmentQuestion
    ) -> Containment:
        self._find_equal_definitions()
        if question not in self._proven:
            self._proven[question] = self._prove_definitions(question)
        old, new = schemas
        if len(old) == len(new) == 1:
            number = self._numbers[0].get(old[0])
            # The assumption was about this very pair: nothing else will prove it.
            if number is not None and number == self._numbers[1].get(new[0]):
                is_proven = number in self._proven[question]
                return Containment.YES if is_proven else Containment.UNKNOWN
        if self._is_proven(schemas, question, self._proven[question], set()):
            return Containment.YES
        return Containment.UNKNOWN

    def _find_equal_definitions(self) -> None:
        """Find the definitions of which equality can be proven together; they count as the same
        from then on.
        """
        if self._has_found_equal:
            return
        self._has_found_equal = True
        changed = {index for index, each in enumerate(self._definitions) if not each.is_same}
        for index in changed:
            self._definitions[index].is_same = True
        pending = set(changed)
        while pending:
            index = pending.pop()
            one, other = self._definitions[index].schemas
            atoms = set(self._definitions[index].parts or ())
            is_equal = self._has_parts_in(
                index, lambda each: self._definitions[each].is_same
            ) or all(
                self._is_proven(
                    ((one,), (other,)),
                    ContainmentQuestion(side, is_strict=True),
                    frozenset(),
                    atoms,
                )
                for side in (0, 1)
            )
            for each in atoms:
                self._definitions[each].users.add(index)
            if not is_equal:
                changed.discard(index)
                self._definitions[index].is_same = False
                pending |= self._definitions[index].users & changed

    def _prove_definitions(self, question: ContainmentQuestion) -> frozenset[int]:
        """Find the definitions of which containment can be proven together."""
        proven = set(range(len(self._definitions)))
        # What holds for all documents holds for those that are sent.
        assumed = self._assumed.get(question, frozenset()) | self._proven.get(
            replace(question, is_strict=True), frozenset()
        )
        pending = {
            index
            for index, each in enumerate(self._definitions)
            if not each.is_same and index not in assumed
        }
        refuted: set[int] = set()
        while pending:
            index = pending.pop()
            schemas = (
                (self._definitions[index].schemas[0],),
                (self._definitions[index].schemas[1],),
            )
            atoms = set(self._definitions[index].parts or ())
            is_proven = (
                (question.is_strict and self._has_parts_in(index, proven.__contains__))
                or self._is_proven(schemas, question, frozenset(proven), atoms)
                or self._is_proven_by_parts(schemas, question, frozenset(proven), atoms)
            )
            if not is_proven and question.is_strict and not refuted.isdisjoint(atoms):
                # Asking about the whole takes long, and hardly ever finds it contained if a part
                # of it is not.
                refuted.add(index)
            elif not is_proven:
                answer = self._decide_whole(schemas, question)
                is_proven = answer is Containment.YES
                refuted |= {index} if answer is Containment.NO else set()
            for each in atoms:
                self._definitions[each].users.add(index)
            if not is_proven:
                proven.discard(index)
                pending |= {
                    each
                    for each in self._definitions[index].users & proven
                    if not self._definitions[each].is_same and each not in assumed
                }
        return frozenset(proven)

    def _is_monotone(self, side: int, schemas: Schemas) -> bool:
        """Return true if schemas accept more wherever a definition of both sides that they refer to
        does.
        """
        pending = list(schemas)
        seen = set(schemas)
        while pending:
            schema = pending.pop()
            if (side, schema) not in self._monotone:
                self._monotone[side, schema] = all(
                    NOT_MONOTONE.isdisjoint(each.members) for each in iter_schemas(schema.data)
                )
            if not self._monotone[side, schema]:
                return False
            below = {
                each
                for each in self._canonical.find_targets(side, schema)
                if each not in self._numbers[side]
            } - seen
            seen |= below
            pending += below
        return True

    def _is_proven(
        self,
        schemas: tuple[Schemas, Schemas],
        question: ContainmentQuestion,
        proven: frozenset[int],
        atoms: set[int],
    ) -> bool:
        """Return true if containment is proven with atoms for other definitions; their numbers are
        added to ``atoms``.

        Where one of two schemas is monotone, the same atom stands for both sides of a contained
        definition, which the oracle decides faster.
        """
        ends: list[jsonschema_rs.CanonicalSchema] = []
        is_monotone = question.is_strict and any(
            self._is_monotone(side, each) for side, each in enumerate(schemas)
        )
        for side, form in (
            (question.sender, question.forms[0]),
            (1 - question.sender, question.forms[1]),
        ):

            def find_atoms(
                definition: SchemaLocation, position: Form, side: int = side
            ) -> tuple[str, ...]:
                index = self._numbers[side].get(definition)
                if index is None:
                    return ()
                atoms.add(index)
                is_sender = side == question.sender and not (is_monotone and index in proven)
                return self._name_atoms(index, is_sender, position, question, proven)

            made = self._canonical.make_with_atoms(side, schemas[side], form, find_atoms)
            if made is None:
                return False
            ends.append(made)
        return decide_covers(ends[1], ends[0]) is Containment.YES

    def _is_proven_by_parts(
        self,
        schemas: tuple[Schemas, Schemas],
        question: ContainmentQuestion,
        proven: frozenset[int],
        atoms: set[int],
    ) -> bool:
        """Return true if two schemas have the same keywords, and those that differ are members or
        items of which each is contained.
        """
        sent = schemas[question.sender][0]
        taken = schemas[1 - question.sender][0]
        if (
            not question.is_strict
            or not isinstance(sent.data, dict)
            or not isinstance(taken.data, dict)
        ):
            return False
        keywords = [
            each for each in dict.fromkeys((*sent.data, *taken.data)) if not is_annotation(each)
        ]
        if any(
            each not in sent.data or each not in taken.data or each not in _OF_PARTS
            for each in keywords
        ):
            return False
        parts: list[tuple[SchemaLocation | None, SchemaLocation | None]] = []
        for keyword in keywords:
            one = sent.members[keyword]
            other = taken.members[keyword]
            if (
                keyword == "properties"
                and isinstance(one, dict)
                and isinstance(other, dict)
                and one.keys() <= other.keys()
            ):
                if (
                    one.keys() != other.keys()
                    and sent.data.get("additionalProperties") is not False
                ):
                    return False
                parts += [
                    (sent.descend(keyword, name), taken.descend(keyword, name)) for name in one
                ]
            elif keyword in {"items", "additionalProperties"}:
                parts.append((sent.descend(keyword), taken.descend(keyword)))
            elif canonical.to_key(one) != canonical.to_key(other):
                return False
        return all(self._is_part_proven(each, question, proven, atoms) for each in parts)

    def _is_part_proven(
        self,
        part: tuple[SchemaLocation | None, SchemaLocation | None],
        question: ContainmentQuestion,
        proven: frozenset[int],
        atoms: set[int],
    ) -> bool:
        sent, taken = part
        if sent is None or taken is None:
            return False
        old, new = (sent, taken) if question.sender == 0 else (taken, sent)
        references = self._equality.find_references(old, new)
        if references is not None and all(
            self._is_reference_proven(each, proven, atoms) for each in references
        ):
            return True
        ends = ((old,), (new,))
        return (
            self._is_proven(ends, question, proven, atoms)
            or self._is_proven_by_parts(ends, question, proven, atoms)
            or self._decide_whole(ends, question) is Containment.YES
        )

    def _is_reference_proven(
        self,
        reference: tuple[SchemaLocation, SchemaLocation],
        proven: frozenset[int],
        atoms: set[int],
    ) -> bool:
        index = self._numbers[0].get(reference[0])
        if index is None or index != self._numbers[1].get(reference[1]):
            return self._equality.is_same(*reference)
        atoms.add(index)
        return index in proven or self._definitions[index].is_same

    def _name_atoms(
        self,
        index: int,
        is_sender: bool,  # noqa: FBT001
        position: Form,
        question: ContainmentQuestion,
        proven: frozenset[int],
    ) -> tuple[str, ...]:
        """Name the atoms of a definition: the more atoms, the fewer documents."""
        lenient, written, old, sent = (
            f"{index} {word}" for word in ("taken", "written", "old", "sent")
        )
        has_tolerance = self._trees[1 - question.sender].has_tolerance
        of_reader = (lenient, written) if has_tolerance and not question.is_strict else (lenient,)
        if not is_sender:
            return (lenient,) if position is Form.LENIENT else of_reader
        is_same = self._definitions[index].is_same
        names = of_reader if is_same else (old,)
        # A proven definition is contained in the reader's, so the sender has the reader's atom too.
        if question.is_strict:
            if index in proven and not is_same:
                names = (lenient, old)
        elif position is Form.SENT:
            names = (*names, sent)
            if index in proven:
                names = (*names, lenient)
        return names


def get_schemas(pair: NodePair) -> tuple[Schemas, Schemas]:
    """Return the schemas of a pair; a definition is one schema, although its node may have
    several.
    """
    ends = get_ends(pair)
    if ends:
        return ((ends[0],), (ends[1],))
    return (pair.old.schemas, pair.new.schemas)


def get_ends(pair: NodePair) -> tuple[SchemaLocation, SchemaLocation] | None:
    """Return both ends of a pair of definitions; ``None`` for a pair below a definition."""
    old = pair.old.origin
    new = pair.new.origin
    if (
        old is None
        or new is None
        or (old.location, new.location) != (pair.old_location, pair.new_location)
    ):
        return None
    return old, new
