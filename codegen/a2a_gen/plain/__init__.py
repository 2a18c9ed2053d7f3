"""The package of plain schemas: models, and a typed schema for each definition.

It imports Pydantic, jsonschema-rs and itself.

__init__.py     every type, and SchemaMismatchError, loaded on first use
schemas.py      a ``PackageSchema`` for each definition: readers, writers and validators
types/          the models, one module per file; schemas.json, which decides what types cannot
support/        hand-written modules, copied
"""
