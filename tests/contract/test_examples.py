"""The examples in the contract: what readers take, forgive and refuse, by JSON Schema and by the
generated models.
"""

from __future__ import annotations

import json

import jsonschema_rs
import pytest
from contract.documents import (
    Example,
    examples,
    pointer,
    pointers,
    read_document,
    read_leniently,
    validator,
    write,
)
from pydantic import ValidationError

VALID, LENIENT, INVALID = (examples(kind) for kind in ("valid", "lenient", "invalid"))


@pytest.mark.parametrize("example", VALID, ids=str)
def test_a_valid_document_is_taken(example: Example) -> None:
    """Any JSON Schema validator takes what a good writer sends, and what a reader takes of it is
    written again with the same meaning.
    """
    assert validator(example.dialect, example.type).is_valid(example.content)
    assert write(read_document(example, example.content)) == example.content


@pytest.mark.parametrize("example", LENIENT, ids=str)
def test_a_lenient_document_is_read(example: Example) -> None:
    """A document that only lenient readers accept is written in strict form."""
    content = example.content
    assert isinstance(content, dict)
    assert write(read_leniently(example, content["document"])) == content["reads_as"]


@pytest.mark.parametrize("example", INVALID, ids=str)
def test_an_invalid_document_is_refused(example: Example) -> None:
    """A reader refuses it with one error, at the place that the example names; so does any JSON
    Schema validator, unless only a reader can tell.
    """
    content = example.content
    assert isinstance(content, dict)
    faults = {
        _place(error)
        for error in validator(example.dialect, example.type).iter_errors(content["document"])
    }
    assert faults == (set() if content.get("schema") == "accepts" else {content["place"]})
    with pytest.raises(ValidationError) as refused:
        read_document(example, content["document"])
    assert pointers(example, refused.value) == [content["place"]]


def _place(error: jsonschema_rs.ValidationError) -> str:
    """Name where an error is; a missing member is missed where it should stand."""
    steps = [*error.instance_path]
    missing = error.message.removesuffix(" is a required property")
    if missing != error.message:
        steps.append(json.loads(missing))
    return pointer(steps)
