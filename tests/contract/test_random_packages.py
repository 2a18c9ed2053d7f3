"""Random schemas through built packages: each document that the schema accepts is written as it was
read, each other one is refused.
"""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

import jsonschema_rs
import pytest
from contract.plain_packages import import_package
from contract.random_schemas import bundles
from contract.skill_cases import same
from contract.test_any_schema import DOCUMENTS
from hypothesis import given, settings


def check_package(schema: dict[str, object]) -> None:
    """Build the package of a schema, and compare it with a validator over some documents."""
    whole = {**schema, "$ref": "#/$defs/Root"}
    judge = jsonschema_rs.validator_for(whole, validate_formats=True)
    with TemporaryDirectory() as folder, import_package(Path(folder), {"made.json": whole}) as name:
        made = import_module(f"{name}.schemas").MADE
        for document in DOCUMENTS:
            if judge.is_valid(document):
                assert same(document, json.loads(made.write(made.read(json.dumps(document))))), (
                    document
                )
            else:
                with pytest.raises(ValueError, match=r".+"):
                    made.read(json.dumps(document))


@settings(max_examples=8, deadline=None)
@given(bundles())
def test_documents_come_back_from_packages_as_they_were(schema: dict[str, object]) -> None:
    """A few schemas, each in a package of its own."""
    check_package(schema)


@pytest.mark.soak
@settings(max_examples=500, deadline=None)
@given(bundles())
def test_documents_come_back_from_many_packages_as_they_were(schema: dict[str, object]) -> None:
    """Many schemas, each in a package of its own."""
    check_package(schema)
