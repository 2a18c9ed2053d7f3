"""Any schema at all: the model that is made of it takes whatever the schema takes, so that the
validator alone decides.
"""

from __future__ import annotations

import jsonschema_rs
from contract.made_schemas import make
from contract.random_schemas import bundles
from contract.skill_cases import neighbours, same
from hypothesis import given

from a2a_gen.source.json_text import Json
from a2a_runtime.skills.schema import SchemaMismatchError

STARTS: tuple[Json, ...] = (
    {"a": "x", "b": 1, "kind": "y", "id": None},
    {"a": {"a": "x", "b": [1, "x"]}, "kind": 2},
    {"b": ["x", 1, None], "id": {"id": 2.0}},
    ["x", 1],
    [[1], {"a": 1}],
    "xy",
    2,
    2.0,
)


DOCUMENTS = [document for start in STARTS for document in list(neighbours(start))[::5]]


@given(bundles())
def test_models_accept_and_keep_what_schemas_accept(schema: dict[str, object]) -> None:
    """A typed schema reads and writes exactly the documents that the JSON Schema accepts."""
    judge = jsonschema_rs.validator_for({**schema, "$ref": "#/$defs/Root"}, validate_formats=True)
    form, _ = make({**schema, "$ref": "#/$defs/Root"})
    for document in DOCUMENTS:
        try:
            value = form.parse(document)
        except SchemaMismatchError as error:
            # The test compares whether the document is refused.
            assert not judge.is_valid(document), (document, str(error))  # noqa: PT017
        else:
            assert judge.is_valid(document), document
            assert same(document, form.serialize(value)), document
