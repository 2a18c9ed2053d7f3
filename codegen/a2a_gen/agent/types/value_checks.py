"""Check of defaults and examples by their schemas, each once: a large schema has many members that
refer to the same definition.

The reason of a mismatch is the sentence that a reader of the generated package gives: a union is
explained by the branch that the value means.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import jsonschema_rs

from a2a_gen.agent.schemas import files as schemas
from a2a_gen.agent.schemas.catalog import SchemaCatalog, bundle_all
from a2a_gen.agent.schemas.files import SchemaRef
from a2a_gen.agent.types.views import ViewSource
from a2a_gen.source.json_text import Json

if TYPE_CHECKING:
    from a2a_gen.support.typed_schema import SchemaValidator


class ValueChecker:
    """Validators of the places of values, over one document with all schemas."""

    def __init__(self, catalogue: SchemaCatalog) -> None:
        self._catalogue = catalogue
        self._documents: dict[str, Json] = {}
        self._registries: dict[str, jsonschema_rs.Registry] = {}
        self._validators: dict[SchemaRef, SchemaValidator] = {}
        self._reasons: dict[tuple[SchemaRef, str], str] = {}

    def explain_default(self, value: Json, source: ViewSource) -> str:
        """Explain why a schema refuses a default; empty if it does not."""
        text = None
        if isinstance(source.schema, dict) and len(source.schema) == 1:
            text = schemas.reference(source.schema)
        return self._explain(
            value, (self._catalogue.follow(source.place, text) if text else None) or source.place
        )

    def find_wrong_examples(self) -> Iterator[tuple[SchemaRef, int, str]]:
        """Find the first example of each schema that the schema refuses: place, index and
        reason.
        """
        library = self._catalogue.library
        places: dict[SchemaRef, None] = {}
        for target in self._catalogue.names:
            places |= dict.fromkeys(self._find_examples(target, library.value(target)))
        for place in places:
            schema = library.value(place)
            for index, value in enumerate(
                schemas.items(schema if isinstance(schema, dict) else {}, "examples")
            ):
                if reason := self._explain(value, place):
                    yield place, index, reason
                    break

    def _find_examples(self, place: SchemaRef, schema: Json) -> Iterator[SchemaRef]:
        if isinstance(schema, dict):
            if schemas.items(schema, "examples"):
                yield place
            for pointer, part in schemas.subschemas(schema):
                yield from self._find_examples(SchemaRef(place.file, place.pointer + pointer), part)

    def _explain(self, value: Json, place: SchemaRef) -> str:
        key = (place, json.dumps(value))
        if key not in self._reasons:
            # It imports Pydantic, which a build without examples and defaults does not need.
            from a2a_gen.support.typed_schema import SchemaMismatchError  # noqa: PLC0415

            try:
                self._find_validator(place).check(value)
                self._reasons[key] = ""
            except SchemaMismatchError as error:
                self._reasons[key] = str(error)
        return self._reasons[key]

    def _find_validator(self, place: SchemaRef) -> SchemaValidator:
        if place not in self._validators:
            from a2a_gen.support.typed_schema import SchemaValidator  # noqa: PLC0415 - as above

            address, reference = bundle_all(place, self._catalogue, self._documents)
            if address not in self._registries:
                self._registries[address] = jsonschema_rs.Registry(
                    [(address, self._documents[address])]
                )
            self._validators[place] = SchemaValidator(
                {"$ref": f"{address}{reference}"}, self._registries[address], self._documents
            )
        return self._validators[place]
