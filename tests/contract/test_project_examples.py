"""The examples of an ``a2a.toml`` in the contract, as the server reads them."""

from __future__ import annotations

import json
import tomllib

import pytest
from contract.documents import EXAMPLES, SCHEMA, pointer

from a2a_runtime.features.project.errors import ConfigError
from a2a_runtime.features.project.file import parse_project_file

KINDS = json.loads((EXAMPLES / "project.json").read_bytes())
VALID = [pytest.param("\n".join(lines), id=reason) for reason, lines in KINDS["valid"].items()]
INVALID = [
    pytest.param("\n".join(each["document"]), each["place"], id=reason)
    for reason, each in KINDS["invalid"].items()
]


@pytest.mark.parametrize("text", VALID)
def test_a_valid_file_is_taken(text: str) -> None:
    """Every table of a valid file is in what the server reads of it."""
    assert parse_project_file(text).model_fields_set == set(tomllib.loads(text))


@pytest.mark.parametrize(("text", "place"), INVALID)
def test_an_invalid_file_is_refused(text: str, place: str) -> None:
    """The server refuses the file with one problem, at the place that the example names."""
    with pytest.raises(ConfigError) as refused:
        parse_project_file(text)
    assert [pointer(problem.path) for problem in refused.value.problems] == [place]


def test_one_file_has_every_section() -> None:
    """The longest example names every key and table that a file can have at its top."""
    schema = json.loads((SCHEMA / "meta" / "project.schema.json").read_bytes())
    assert set(tomllib.loads("\n".join(KINDS["valid"]["every-section"]))) == set(
        schema["properties"]
    )
