"""The breaking-change check against validators: compatible pairs are, witnesses are confirmed, and
another tool agrees or is explained.
"""

from __future__ import annotations

import json
from collections import Counter
from functools import partial
from itertools import islice

import jsoncompat
import jsonschema_rs
import pytest
from contract.fuzzing import is_endless
from contract.random_schemas import VALUES, as_sent, pairs
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from a2a_gen.diff.compare import SchemaComparison
from a2a_gen.diff.documents.samples import Sampler
from a2a_gen.diff.documents.witness import Witness
from a2a_gen.diff.report import CompareOptions, compare
from a2a_gen.diff.rules.rule import ChangeLevel
from a2a_gen.diff.sides import ContractSide
from a2a_gen.diff.tree.schema_node import build_node
from a2a_gen.diff.usage import Usage
from a2a_gen.source.documents import Document

Bundle = dict[str, object]
USAGES = {"read": ("BACKWARD", Usage.READ), "written": ("FORWARD", Usage.WRITTEN)}
ROOT = ("schema.json", "/$defs/Root")


def build_side(bundle: Bundle) -> ContractSide:
    """Build a side of one file."""
    return ContractSide(
        {"schema.json": Document("schema.json", json.dumps(bundle, indent=1), bundle)},
        "old",
        is_plain=True,
    )


def build_validator(bundle: Bundle, definition: str = "Root") -> jsonschema_rs.Validator:
    """Build a validator of one definition; an invalid schema is no example, and neither is one that
    applies itself to the same value.
    """
    try:
        validator = jsonschema_rs.validator_for(
            {**bundle, "$ref": f"#/$defs/{definition}"}, validate_formats=True
        )
    except ValueError:
        assume(condition=False)
        raise
    assume(not is_endless(bundle))
    return validator


def build_samples(old: ContractSide, new: ContractSide) -> list[object]:
    """Generate documents from both sides, which random documents rarely match."""
    comparison = SchemaComparison(old.tree, new.tree)
    made: list[object] = []
    for number, tree in enumerate(comparison.trees):
        sampler = Sampler(tree, partial(comparison.get_value_set, number))
        made += islice(sampler.generate(build_node(tree, [tree.definitions[ROOT]])), 80)
    return made


@pytest.mark.parametrize("name", USAGES)
@given(pair=pairs(), documents=st.lists(VALUES, max_size=40))
def test_compatible_pairs_are_compatible(
    name: str, pair: tuple[Bundle, Bundle], documents: list[object]
) -> None:
    """Without a finding above info, no document of a well-behaved sender is accepted by one side
    and rejected by the other.
    """
    profile, usage = USAGES[name]
    sides = [build_side(bundle) for bundle in pair]
    sender, receiver = pair if usage is Usage.READ else pair[::-1]
    sends = build_validator(as_sent(sender), "Root%20sent")
    takes = build_validator(receiver)
    if compare(
        *sides, CompareOptions(profile, frozenset({usage}), find_witnesses=False)
    ).findings_at_least(ChangeLevel.WARNING):
        return
    refused = [
        each
        for each in [*documents, *build_samples(*sides)]
        if sends.is_valid(each) and not takes.is_valid(each)
    ]
    assert refused == []


def is_confirmed(witness: Witness, old: Bundle, new: Bundle) -> bool:
    """Check a witness with two validators that are independent of the comparison."""
    taker, refuser = (old, new) if witness.is_newly_refused else (new, old)
    accepted = build_validator(taker, witness.definition).is_valid(witness.document)
    return accepted and not build_validator(refuser, witness.definition).is_valid(witness.document)


@given(pair=pairs())
@example(
    pair=(
        {"$defs": {"Root": {}, "One": {"type": "number"}, "Two": {}}},
        {"$defs": {"Root": {}, "One": {"$ref": "#/$defs/Two"}, "Two": {}}},
    )
)
def test_every_witness_is_confirmed(pair: tuple[Bundle, Bundle]) -> None:
    """Every witness is accepted by one side and rejected by the other."""
    for bundle in pair:
        build_validator(bundle)
    findings = compare(*map(build_side, pair), CompareOptions("WIRE")).findings
    witnesses = [witness for finding in findings for witness in finding.witnesses]
    assert [each for each in witnesses if not is_confirmed(each, *pair)] == []


def test_most_breaks_have_a_witness(record_property: pytest.RecordProperty) -> None:
    """The share of breaks of random schemas without a witness is known, and small."""
    count: Counter[str] = Counter()

    @settings(max_examples=150)  # fewer examples make the share vary
    @given(pair=pairs())
    def gather(pair: tuple[Bundle, Bundle]) -> None:
        for bundle in pair:
            build_validator(bundle)
        for finding in compare(*map(build_side, pair), CompareOptions("WIRE")).findings_at_least(
            ChangeLevel.ERROR
        ):
            count["without" if finding.lacks_witness else "with"] += 1

    gather()
    share = count["without"] / max(1, count.total())
    record_property("breaks without a witness", f"{count['without']} of {count.total()}")
    assert share < 0.25


@pytest.mark.parametrize("name", USAGES)
@given(pair=pairs(), documents=st.lists(VALUES, max_size=20))
def test_a_document_decides_where_another_tool_disagrees(
    name: str, pair: tuple[Bundle, Bundle], documents: list[object]
) -> None:
    """Jsoncompat may warn of more; then every such document has an unnamed member, which the check
    ignores on purpose.

    It may also warn of less: it ignores patterns, and guesses conditions and overlapping
    alternatives. Errors then have witnesses, or report that none was found.
    """
    profile, usage = USAGES[name]
    sender, receiver = pair if usage is Usage.READ else pair[::-1]
    takes = build_validator(receiver)
    sends = build_validator(sender)
    as_good = build_validator(as_sent(sender), "Root%20sent")
    sides = [build_side(bundle) for bundle in pair]
    report = compare(*sides, CompareOptions(profile, frozenset({usage})))
    try:
        words = [json.dumps({**bundle, "$ref": "#/$defs/Root"}) for bundle in pair]
        agrees = jsoncompat.check_compat(
            *words, "deserializer" if usage is Usage.READ else "serializer"
        )
    except ValueError:
        return  # it does not take every schema
    if not agrees and not report.findings_at_least(ChangeLevel.WARNING):
        meant = [
            each
            for each in [*documents, *build_samples(*sides)]
            if sends.is_valid(each) and not takes.is_valid(each)
        ]
        assert not any(as_good.is_valid(each) for each in meant)
    if agrees:
        errors = report.findings_at_least(ChangeLevel.ERROR)
        assert all(
            finding.witnesses or finding.lacks_witness
            for finding in errors
            if finding.can_have_witness
        )
