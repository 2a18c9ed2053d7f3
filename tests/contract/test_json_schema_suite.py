"""The JSON Schema Test Suite: what a schema accepts, its typed schema accepts and writes back; what
is not supported is refused by name.

Formats are asserted here and only annotations in the suite, so ``format.json`` and the optional
tests are left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from contract.made_schemas import make
from peers.environments import environment

from a2a_gen.problems import ContractError
from a2a_runtime.skills.schema import SchemaMismatchError

DRAFTS = {
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
    "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft7": "http://json-schema.org/draft-07/schema#",
}
REFUSED = (
    *(
        "is not part of this project",
        "cannot be read",
        "does not resolve",
        "is outside the project",
    ),
    *("is not a supported draft", "several times", "nested $ids"),
)
"""Reasons to refuse a schema of the suite: it refers to other files, to a nested ``$id``, or to an
ambiguous anchor.
"""

Group = dict[str, Any]


def groups(draft: str) -> list[Group]:
    """Read the tests of a draft: each a schema with values."""
    peer = environment("json-schema-suite")
    assert peer.interpreter
    folder = next(peer.folder.glob("jsonschema-*/json/tests")) / draft
    return [
        {**group, "file": file.stem}
        for file in sorted(folder.glob("*.json"))
        if file.stem != "format"
        for group in json.loads(file.read_bytes())
    ]


def differences(group: Group, draft: str) -> Iterator[str]:
    """Compare a typed schema with the suite; values that it refuses after a warning of the build
    are no difference.
    """
    schema: object = group["schema"]
    name = f"{group['file']}: {group['description']}"
    try:
        form, warnings = make(
            {"$schema": DRAFTS[draft], **schema} if isinstance(schema, dict) else schema
        )
    except ContractError as error:
        if not all(any(reason in problem.text for reason in REFUSED) for problem in error.problems):
            yield f"{name}: refused: {error}"
        return
    is_narrower = any(warning.rule == "A2A-K07" for warning in warnings)
    for test in group["tests"]:
        try:
            written = form.serialize(form.parse(test["data"]))
        except SchemaMismatchError as error:
            if test["valid"] and not is_narrower:
                yield f"{name}: {test['description']}: wrongly refused: {error}"
        else:
            if not test["valid"]:
                yield f"{name}: {test['description']}: wrongly accepted"
            elif written != test["data"]:
                yield f"{name}: {test['description']}: written as {written}"


@pytest.mark.peer
@pytest.mark.slow
@pytest.mark.parametrize(
    ("draft", "step"), [("draft2020-12", 1), ("draft2019-09", 10), ("draft7", 10)]
)
def test_the_suite_finds_no_difference(draft: str, step: int) -> None:
    """Every schema of the current draft, and a tenth of those of the older ones."""
    assert [each for group in groups(draft)[::step] for each in differences(group, draft)] == []


@pytest.mark.peer
@pytest.mark.soak(share="contracts")
@pytest.mark.parametrize("draft", ["draft2019-09", "draft7"])
def test_the_suites_of_older_drafts_find_none_either(draft: str) -> None:
    """Every schema of the older drafts."""
    assert [each for group in groups(draft) for each in differences(group, draft)] == []


def test_anchors_that_stand_twice_are_refused() -> None:
    """The schema of an anchor would depend on nested ``$id`` members, or on the path of the
    validator.
    """
    schema = {
        "$ref": "#item",
        "$defs": {"A": {"$anchor": "item"}, "B": {"$id": "b", "$anchor": "item"}},
    }
    with pytest.raises(ContractError) as raised:
        make(schema)
    assert [each.text for each in raised.value.problems] == [
        "made.json has the anchor item several times: #/$defs/A, #/$defs/B"
    ]
