"""Typed schemas made of any schema, without a project: the type is built and executed in a module
of its own.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from types import ModuleType

from a2a_contract.base import JsonObject
from a2a_gen.agent import models
from a2a_gen.agent.models import assign_modules
from a2a_gen.agent.schemas.catalog import SchemaCatalog, bundle
from a2a_gen.agent.schemas.checks import check
from a2a_gen.agent.schemas.files import Library, SchemaRef
from a2a_gen.agent.types import branches
from a2a_gen.agent.types.builder import TypeBuilder
from a2a_gen.problems import ContractError, Problem, has_errors
from a2a_runtime.skills.schema import TypedSchema

PAYMENT: JsonObject = {
    "type": "object",
    "properties": {"payment": {"oneOf": [{"$ref": "#/$defs/Paid"}, {"$ref": "#/$defs/Billed"}]}},
    "$defs": {
        "Paid": {
            "type": "object",
            "required": ["kind", "card"],
            "properties": {"kind": {"const": "card"}, "card": {"$ref": "#/$defs/Card"}},
        },
        "Billed": {
            "type": "object",
            "required": ["kind"],
            "properties": {"kind": {"const": "invoice"}},
        },
        "Card": {
            "type": "object",
            "required": ["pan"],
            "properties": {"pan": {"type": "string", "pattern": "^[0-9]{12,19}$"}},
        },
    },
}
"""A union whose tag picks a branch with a member inside it that may be wrong."""

_FOLDER = TemporaryDirectory(prefix="made-schemas-")


def make(schema: object) -> tuple[TypedSchema[object], tuple[Problem, ...]]:
    """Make the typed schema of a schema, and list the warnings; raise ``ContractError`` where it is
    refused.
    """
    with TemporaryDirectory() as folder:
        Path(folder, "made.json").write_text(json.dumps(schema))
        library = Library(Path(folder))
        root = library.resolve("made.json", SchemaRef("made.json"))
        assert root is not None
        catalogue = SchemaCatalog(library, {root: "Made"})
    found = (*library.problems, *check(library))
    if has_errors(found):
        raise ContractError(found)
    types = TypeBuilder(catalogue)
    module = ModuleType("made_schema_of_a_test")
    module.__file__ = str(Path(mkdtemp(dir=_FOLDER.name), "made.py"))
    Path(module.__file__).with_name("schemas.json").write_bytes(
        branches.emit(types.definitions, catalogue)
    )
    sys.modules[module.__name__] = module  # where Pydantic looks for names
    for code in models.emit(types.definitions, assign_modules(types.definitions)).values():
        exec(code, vars(module))  # noqa: S102 - what was just generated
    of = getattr(module, catalogue.names[root]) if types.definitions else object
    return TypedSchema(of, json.loads(bundle(root, catalogue, "urn:test"))), (
        *found,
        *types.warnings,
    )
