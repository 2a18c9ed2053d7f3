"""Any schema at all: the model that is made of it takes whatever the schema takes, so that the validator alone decides."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

import jsonschema_rs
from contract.random_schemas import bundles
from contract.skill_cases import neighbours, same
from hypothesis import given

from a2a_gen.agent import models
from a2a_gen.agent.catalog import SchemaCatalog, bundle
from a2a_gen.agent.models import assign_modules
from a2a_gen.agent.schemas import Library, SchemaRef
from a2a_gen.agent.type_builder import TypeBuilder
from a2a_gen.source.json_text import Json
from a2a_runtime.skills.schema import SchemaMismatchError, TypedSchema

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


def made(schema: dict[str, object]) -> TypedSchema[object]:
    """Make the form of a schema."""
    with TemporaryDirectory() as folder:
        Path(folder, "made.json").write_text(json.dumps({**schema, "$ref": "#/$defs/Root"}))
        library = Library(Path(folder))
        root = library.resolve("made.json", SchemaRef("made.json"))
        assert root is not None
        catalogue = SchemaCatalog(library, {root: "Made"})
    assert library.problems == {}
    definitions = TypeBuilder(catalogue).definitions
    (code,) = models.emit(definitions, assign_modules(definitions)).values()
    module = ModuleType("any_schema_of_a_test")
    sys.modules[module.__name__] = module  # where Pydantic looks for names
    exec(code, vars(module))  # noqa: S102 - what was just generated
    of = getattr(module, catalogue.names[root])
    return TypedSchema(of, json.loads(bundle(root, catalogue, "urn:test")))


DOCUMENTS = [document for start in STARTS for document in list(neighbours(start))[::5]]


@given(bundles())
def test_models_refuse_and_lose_nothing_that_schemas_take(schema: dict[str, object]) -> None:
    """What the original schema takes, the form reads and writes again, and nothing else."""
    judge = jsonschema_rs.validator_for({**schema, "$ref": "#/$defs/Root"}, validate_formats=True)
    form = made(schema)
    for document in DOCUMENTS:
        try:
            value = form.parse(document)
        except SchemaMismatchError as error:
            assert not judge.is_valid(document), (document, str(error))  # noqa: PT017 - whether it is refused is what is compared
        else:
            assert judge.is_valid(document), document
            assert same(document, form.serialize(value)), document
