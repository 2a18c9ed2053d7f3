"""The compatibility check against validators that are not part of it: nothing that it calls safe
refuses a document.
"""

from __future__ import annotations

import json
import os
from random import SystemRandom

import pytest
from contract.judging import Ajv, Outcome, shrink_unsound, try_pairs

pytestmark = pytest.mark.peer

_PAIRS = 5_000
_PARTS = 5
_SOAK_PAIRS = 60_000
_SOAK_PARTS = 6


def report(outcome: Outcome, seed: int) -> str:
    """Show what must not be, how to see it again, and the smallest pairs of it."""
    wrong = [
        json.dumps(each)
        for each in (*outcome.unsound[:3], *outcome.unconfirmed[:3], *outcome.false_errors[:3])
    ]
    smallest = [f"smallest: {json.dumps(shrink_unsound(*each))}" for each in outcome.unsound[:3]]
    return "\n".join([f"seed {seed}: {dict(outcome.count)}", *wrong, *smallest])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, _PARTS + 1))
def test_nothing_that_is_called_safe_refuses_a_document(
    seed: int, record_property: pytest.RecordProperty
) -> None:
    """Of random schemas and versions, none is called safe or undecided that refuses a document, and
    every witness is confirmed.
    """
    with Ajv() as ajv:
        outcome = try_pairs(seed, _PAIRS // _PARTS, ajv=ajv)
    record_property("outcomes", str(dict(outcome.count)))
    assert (outcome.unsound, outcome.unconfirmed) == ([], []), report(outcome, seed)
    assert outcome.count["changed: safe"] > 300
    assert len(outcome.false_errors) <= 0.01 * outcome.count["equal: safe"], report(outcome, seed)


@pytest.mark.soak(share="contracts")
@pytest.mark.parametrize("part", range(_SOAK_PARTS))
def test_nothing_that_is_called_safe_refuses_a_document_for_long(
    part: int, record_property: pytest.RecordProperty
) -> None:
    """The same with other schemas in every run; `A2A_GEN_FUZZ_SEED` repeats one."""
    seed = int(os.environ.get("A2A_GEN_FUZZ_SEED") or SystemRandom().randrange(10**9)) + part
    with Ajv() as ajv:
        outcome = try_pairs(seed, _SOAK_PAIRS // _SOAK_PARTS, ajv=ajv)
    record_property("outcomes", f"seed {seed}: {dict(outcome.count)}")
    record_property("pairs of schemas", _SOAK_PAIRS // _SOAK_PARTS)
    assert (outcome.unsound, outcome.unconfirmed) == ([], []), report(outcome, seed)
