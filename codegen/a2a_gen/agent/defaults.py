"""Check of defaults by their schemas, each once: a large schema has many members that refer to the same definition."""

from __future__ import annotations

import json

import jsonschema_rs

from a2a_gen.agent import schemas
from a2a_gen.agent.catalog import SchemaCatalog, bundle_all
from a2a_gen.agent.schemas import SchemaRef
from a2a_gen.agent.views import ViewSource
from a2a_gen.source.json_text import Json


class DefaultChecker:
    """Validators of the places of defaults, over one document with all schemas."""

    def __init__(self, catalogue: SchemaCatalog) -> None:
        self._catalogue = catalogue
        self._documents: dict[str, Json] = {}
        self._registries: dict[str, jsonschema_rs.Registry] = {}
        self._verdicts: dict[tuple[SchemaRef, str], bool] = {}

    def is_valid(self, value: Json, source: ViewSource) -> bool:
        """Check a value by a schema."""
        text = schemas.reference(source.schema) if isinstance(source.schema, dict) and len(source.schema) == 1 else None
        place = (self._catalogue.follow(source.place, text) if text else None) or source.place
        key = (place, json.dumps(value))
        if key not in self._verdicts:
            self._verdicts[key] = self._is_valid_at(value, place)
        return self._verdicts[key]

    def _is_valid_at(self, value: Json, place: SchemaRef) -> bool:
        address, reference = bundle_all(place, self._catalogue, self._documents)
        if address not in self._registries:
            self._registries[address] = jsonschema_rs.Registry([(address, self._documents[address])])
        schema = {"$ref": f"{address}{reference}"}
        return jsonschema_rs.validator_for(schema, registry=self._registries[address], validate_formats=True, offline=True).is_valid(value)
