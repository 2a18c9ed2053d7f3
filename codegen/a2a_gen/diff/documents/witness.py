"""Witnesses: minimal documents that one side accepts and the other rejects, confirmed by validators
of both.

A change is somewhere below a definition. The search starts with values near the border at the
change itself, wraps them step by step into a document of the definition, and then removes
everything that is not needed.

A validator is compiled from a schema and everything that it refers to. A large schema is reduced to
the members that occur in the document: the schema of an absent member cannot affect the result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice

import jsonschema_rs

from a2a_gen.diff.change import ChildPair, NodePair, SchemaChange, Step
from a2a_gen.diff.compare import SchemaComparison
from a2a_gen.diff.documents.canonical_schemas import Schemas
from a2a_gen.diff.documents.containment import get_schemas
from a2a_gen.diff.documents.pool import generate_pool
from a2a_gen.diff.documents.random_values import RandomValues
from a2a_gen.diff.documents.regex import PATTERN_OPTIONS, generate_matches
from a2a_gen.diff.documents.samples import Sampler
from a2a_gen.diff.tree import canonical
from a2a_gen.diff.tree.bundle import BundleTooLargeError, Form, SchemaBundle, build_scoped
from a2a_gen.diff.tree.changed_parts import Part, find_part_values
from a2a_gen.diff.tree.schema_node import SchemaNode, SchemaTree, build_node
from a2a_gen.diff.tree.value_set import (
    Alternative,
    ComparisonTooLargeError,
    ValueSet,
    build_value_set,
)
from a2a_gen.source.documents import Document
from a2a_gen.source.json_text import Json

_MAX_TRIES = 600
_MAX_WRAPPED = 12
_MAX_STEPS = 10_000
_MAX_GIVEN_STEPS = 4_000
_MAX_ALL_STEPS = 40_000
_COMMON_VALUES: tuple[Json, ...] = (
    None,
    True,
    "",
    "a",
    0,
    1.5,
    -1,
    [],
    {},
    ["a"],
    [1],
    {"other": 1},
    {"other": "a"},
)
_FILLERS: tuple[Json, ...] = (None, "a", 1, {})


class ValidatorPair:
    """Validators of both sides, compiled on first use; side 0 is the base, side 1 the revision."""

    def __init__(self, trees: tuple[SchemaTree, SchemaTree]) -> None:
        self._trees = trees
        self._has_scopes = any(tree.has_scopes for tree in trees)
        self._oversized: set[tuple[int, Schemas, Form]] = set()
        self._validators: dict[
            tuple[int, Schemas, Form, frozenset[str] | None], jsonschema_rs.Validator | None
        ] = {}

    def is_accepted(
        self, side: int, schemas: Schemas, value: Json, form: Form = Form.AS_WRITTEN
    ) -> bool | None:
        """Validate a value; ``None`` if a schema cannot be compiled, or a pattern exceeds the
        limits.
        """
        validator = self._get_validator(side, schemas, form, value)
        try:
            if validator is None:
                return None
            return validator.is_valid(value)
        except (ValueError, jsonschema_rs.ValidationError):
            return None

    def is_oversized(self, side: int, schemas: Schemas) -> bool:
        """Return true if values are validated by a part of a large schema each."""
        self._get_validator(side, schemas, Form.AS_WRITTEN, None)
        return (side, schemas, Form.AS_WRITTEN) in self._oversized

    def _get_validator(
        self, side: int, schemas: Schemas, form: Form, value: Json
    ) -> jsonschema_rs.Validator | None:
        member_names = None
        if (side, schemas, form) in self._oversized:
            member_names = frozenset(_iter_member_names(value))
        key = (side, schemas, form, member_names)
        if key not in self._validators:
            registry: jsonschema_rs.Registry | None = None
            try:
                if self._has_scopes:
                    schema, registry = build_scoped(self._trees[side], schemas)
                else:
                    schema = SchemaBundle(self._trees[side], member_names=member_names).build(
                        schemas, form
                    )
                validator = jsonschema_rs.validator_for(
                    schema,
                    registry=registry,
                    validate_formats=True,
                    pattern_options=PATTERN_OPTIONS,
                    offline=True,
                )
            except BundleTooLargeError:
                self._oversized.add((side, schemas, form))
                return self._get_validator(side, schemas, form, value)
            except (ValueError, jsonschema_rs.ReferencingError, jsonschema_rs.ValidationError):
                validator = None
            self._validators[key] = validator
        return self._validators[key]


def _iter_member_names(value: Json) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
        for each in value.values():
            yield from _iter_member_names(each)
    elif isinstance(value, list):
        for each in value:
            yield from _iter_member_names(each)


@dataclass(frozen=True, slots=True)
class Witness:
    """A document of a definition, or of the file that has this name; newly refused, or newly
    sent.
    """

    document: Json
    definition: str
    is_newly_refused: bool


class WitnessFinder:
    """Searches for the witnesses of one comparison."""

    def __init__(self, comparison: SchemaComparison) -> None:
        self._comparison = comparison
        self._validators = ValidatorPair(comparison.trees)
        self._remaining_steps = _MAX_ALL_STEPS
        self._samplers = (
            Sampler(comparison.trees[0], lambda node: comparison.get_value_set(0, node)),
            Sampler(comparison.trees[1], lambda node: comparison.get_value_set(1, node)),
        )

    def find(
        self,
        change: SchemaChange,
        path: Sequence[ChildPair],
        root: NodePair,
        *,
        is_newly_refused: bool,
        must_be_sent: bool = False,
    ) -> Witness | None:
        """Search a document of ``root`` that shows a change; ``path`` leads from the root to the
        pair of the change.

        With ``must_be_sent`` it is a document that a sender writes, who names no members that its
        schema does not name.
        """
        accepting_side = 0 if is_newly_refused else 1
        documents = self._generate_documents(change, path, root, accepting_side)
        chosen = (
            each
            for each in islice(documents, _MAX_WRAPPED)
            if not must_be_sent or self._is_sent(root, each[0], accepting_side)
        )
        witness = self._build_witness(chosen, root, is_newly_refused=is_newly_refused)
        if witness is None or witness.definition or root.new_location[0] == change.new[0]:
            return witness
        # The change is shown in another file.
        return replace(witness, definition=root.new_location[0])

    def find_difference(
        self, pair: NodePair, difference: Json, *, is_newly_refused: bool
    ) -> Witness | None:
        """Search a document of a definition that a sender writes and the other side rejects;
        ``difference`` is a schema of such documents.
        """
        accepting_side = 0 if is_newly_refused else 1

        def shows(value: Json) -> bool:
            return self.is_witness(pair, value, accepting_side) and self._is_sent(
                pair, value, accepting_side
            )

        candidates = chain(
            islice(_sample_schema(difference), _MAX_TRIES),
            islice(self._generate_border_values(pair, accepting_side, None), _MAX_TRIES),
            generate_pool(zip(self._comparison.trees, get_schemas(pair), strict=True)),
            self._generate_random_values(pair),
        )
        documents = ((_minimize(each, shows),) for each in candidates if shows(each))
        return self._build_witness(documents, pair, is_newly_refused=is_newly_refused)

    def _generate_random_values(self, pair: NodePair) -> Iterator[Json]:
        """Generate values that follow both schemas at random; none for schemas that need a
        validator for each value.
        """
        schemas = get_schemas(pair)
        if self._remaining_steps <= 0 or any(
            self._validators.is_oversized(side, each) for side, each in enumerate(schemas)
        ):
            return
        trees = self._comparison.trees
        source = RandomValues(
            zip(trees, schemas, strict=True), min(_MAX_STEPS, self._remaining_steps)
        )
        yield from source.generate()
        self._remaining_steps -= source.steps
        given = find_part_values(trees, [*zip(*schemas, strict=False)], self._is_judged_differently)
        if given:
            yield from RandomValues(
                zip(trees, schemas, strict=True), _MAX_GIVEN_STEPS, given
            ).generate()

    def _is_judged_differently(self, part: Part, value: Json) -> bool:
        verdicts = {
            self._validators.is_accepted(side, (each,), value) for side, each in enumerate(part)
        }
        return verdicts == {True, False}

    def explain_missing(self, root: NodePair) -> str:
        """Explain why no document of a definition was found that shows a change."""
        schemas = get_schemas(root)
        for side, name in enumerate(("old", "new")):
            if self._validators.is_accepted(side, schemas[side], None) is None:
                return f"no witness: validators cannot compile the {name} schema"
            self._samplers[side].reset_budget()
        if not any(
            self._samplers[side].generate_first(each)
            for side, each in enumerate((root.old, root.new))
        ):
            return "no witness: no document of this definition was found, valid or not"
        return "no witness among the documents near the border of both schemas"

    def _build_witness(
        self, documents: Iterator[tuple[Json]], root: NodePair, *, is_newly_refused: bool
    ) -> Witness | None:
        for sampler in self._samplers:
            sampler.reset_budget()
        try:
            document = next(documents, None)
        except (ComparisonTooLargeError, RecursionError):
            document = None
        if document is None:
            return None
        side = 0 if is_newly_refused else 1
        definition = self._comparison.trees[side].definitions.get(
            (root.old_location, root.new_location)[side]
        )
        return Witness(document[0], definition.name if definition else "", is_newly_refused)

    def is_witness(self, pair: NodePair, value: Json, accepting_side: int) -> bool:
        """Return true if one side accepts a value and the other rejects it."""
        schemas = get_schemas(pair)
        rejecting_side = 1 - accepting_side
        is_rejected = (
            self._validators.is_accepted(rejecting_side, schemas[rejecting_side], value) is False
        )
        return (
            is_rejected
            and self._validators.is_accepted(accepting_side, schemas[accepting_side], value) is True
        )

    def _is_sent(self, pair: NodePair, value: Json, accepting_side: int) -> bool:
        """Return true if a sender writes a value, and a tolerant reader rejects it too."""
        schemas = get_schemas(pair)
        rejecting_side = 1 - accepting_side
        is_sent = (
            self._validators.is_accepted(accepting_side, schemas[accepting_side], value, Form.SENT)
            is True
        )
        return (
            is_sent
            and self._validators.is_accepted(
                rejecting_side, schemas[rejecting_side], value, Form.LENIENT
            )
            is False
        )

    def _generate_documents(
        self, change: SchemaChange, path: Sequence[ChildPair], root: NodePair, accepting_side: int
    ) -> Iterator[tuple[Json]]:
        """Yield confirmed documents, each in a tuple, since null is a document too."""
        pair = change.pair
        if pair is None:
            return

        def shows(value: Json) -> bool:
            return change.focus.can_show(value, accepting_side) and self.is_witness(
                pair, value, accepting_side
            )

        values = islice(
            self._generate_border_values(pair, accepting_side, change.focus.alternative), _MAX_TRIES
        )
        for candidate in islice((value for value in values if shows(value)), _MAX_WRAPPED):
            value = _minimize(candidate, shows)
            for document in islice(self._wrap(value, path, accepting_side), _MAX_WRAPPED):
                if self.is_witness(root, document, accepting_side):
                    yield (
                        _minimize(
                            document,
                            self._build_predicate(
                                root, accepting_side, path, canonical.to_key(value)
                            ),
                        ),
                    )

    def _build_predicate(
        self, root: NodePair, accepting_side: int, path: Sequence[ChildPair], value_key: str
    ) -> Callable[[Json], bool]:
        """Build the test for a smaller document: it must still contain the value that shows the
        change.
        """
        return lambda document: (
            self.is_witness(root, document, accepting_side)
            and _has_value(document, path, value_key)
        )

    def _generate_border_values(
        self, pair: NodePair, accepting_side: int, only: Alternative | None
    ) -> Iterator[Json]:
        sides = (pair.old, pair.new)
        value_sets = (
            self._comparison.get_value_set(0, pair.old),
            self._comparison.get_value_set(1, pair.new),
        )
        sampler = self._samplers[accepting_side]
        if only is not None:
            yield from sampler.generate_for(only)
            return
        for alternative in value_sets[accepting_side]:
            others = value_sets[1 - accepting_side].alternatives.get(alternative.kind, ())
            for other in others or (None,):
                yield from sampler.generate_for(alternative, 0, other)
        yield from self._samplers[1 - accepting_side].generate(sides[1 - accepting_side])
        yield from _COMMON_VALUES

    def _wrap(self, value: Json, path: Sequence[ChildPair], accepting_side: int) -> Iterator[Json]:
        values: list[Json] = [value]
        for child in reversed(path):
            wrapped: list[Json] = []
            for inner in values:
                wrapped += islice(self._wrap_once(child, inner, accepting_side), 6)
            values = wrapped[:_MAX_WRAPPED]
        yield from values

    def _wrap_once(self, child: ChildPair, inner: Json, accepting_side: int) -> Iterator[Json]:
        alternative = (child.old, child.new)[accepting_side]
        sampler = self._samplers[accepting_side]
        match child.step:
            case ("member", str(name)):
                yield from sampler.generate_objects_with(alternative, name, inner)
            case ("any member", _):
                yield from sampler.generate_objects_with(alternative, "other", inner)
            case ("matching member", str(pattern)):
                for name in generate_matches(pattern):
                    yield from sampler.generate_objects_with(alternative, name, inner)
            case ("name", _) if isinstance(inner, str):
                for filler in _FILLERS:
                    yield from sampler.generate_objects_with(alternative, inner, filler)
            case ("item", int(index)):
                yield from sampler.generate_lists_with(alternative, index, inner)
            case ("itself", _):
                yield inner
            case _:
                return


def _sample_schema(schema: Json) -> Iterator[Json]:
    """Generate values of a schema that stands alone."""
    tree = SchemaTree({"": Document("", "", schema)})
    root = tree.get_root("")
    value_sets: dict[SchemaNode, ValueSet] = {}

    def get_value_set(node: SchemaNode) -> ValueSet:
        if node not in value_sets:
            value_sets[node] = build_value_set(tree, node)
        return value_sets[node]

    try:
        yield from Sampler(tree, get_value_set).generate(build_node(tree, [root]))
    except (ComparisonTooLargeError, RecursionError):
        return


def _minimize(document: Json, shows: Callable[[Json], bool]) -> Json:
    """Remove members and items as long as the document still shows the change."""
    tries = _MAX_TRIES
    candidates = _generate_smaller(document)
    while tries and (candidate := next(candidates, None)) is not None:
        tries -= 1
        if shows(candidate):
            document = candidate
            candidates = _generate_smaller(candidate)
    return document


def _has_value(document: Json, path: Sequence[ChildPair], expected: str) -> bool:
    """Return true if the value at a path is still present."""
    values = [document]
    for child in path:
        values = list(chain.from_iterable(_iter_inner(value, child.step) for value in values))
    return any(canonical.to_key(value) == expected for value in values)


def _iter_inner(value: Json, step: Step) -> Iterable[Json]:
    match step, value:
        case ("itself", _), _:
            return [value]
        case ("member", str(name)), dict():
            return [value[name]] if name in value else []
        case ("name", _), dict():
            return list(value)
        case (_, _), dict():
            return value.values()
        case ("item", _), list():
            return value
        case _:
            return []


def _generate_smaller(value: Json) -> Iterator[Json]:
    if isinstance(value, dict):
        for name in value:
            yield {each: inner for each, inner in value.items() if each != name}
        for name, inner in value.items():
            yield from ({**value, name: less} for less in _generate_smaller(inner))
    elif isinstance(value, list):
        half = len(value) // 2
        if half:
            yield from (value[:half], value[half:])
        yield from (value[:index] + value[index + 1 :] for index in range(min(len(value), 20)))
        for index, inner in enumerate(value[:20]):
            yield from (
                [*value[:index], less, *value[index + 1 :]] for less in _generate_smaller(inner)
            )
    elif isinstance(value, str) and len(value) > 1:
        yield from (value[: len(value) // 2], value[:-1], value[1:])
