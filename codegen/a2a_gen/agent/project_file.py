"""The models of ``a2a.toml``: its schema goes through the same steps as the schemas of skills.

The schema is the only description of the file. The server loads the models, the generator and the
server check values by the schema itself (``support/config_schema``), and editors get it from the
package.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from a2a_gen.agent import models
from a2a_gen.agent.schemas.catalog import SchemaCatalog
from a2a_gen.agent.schemas.files import Library, SchemaRef
from a2a_gen.agent.types.builder import TypeBuilder
from a2a_gen.source.documents import Document

SCHEMA = "meta/project.schema.json"
_REST = "project_file"
_AUTH = "auth_tables"
_AUTH_ROOT = "AuthTables"
_BASES = models.ModelBases(".config_model", "ConfigTable", "ConfigTable")
"""What stands for the base classes of skill types: the contract imports nothing of the runtime."""


def emit_project_file(documents: Mapping[str, Document]) -> dict[str, bytes]:
    """Emit the modules of the tables, where the contract has a schema of the file."""
    document = documents.get(SCHEMA)
    if document is None:
        return {}
    catalog = SchemaCatalog(
        Library(Path(), document),
        [SchemaRef(document.path), SchemaRef(document.path, "/$defs/SurfacesTable")],
    )
    definitions = TypeBuilder(catalog).definitions
    uses = {
        name: set(models.find_names(definition)) for name, (_, definition) in definitions.items()
    }
    auth = models.find_reachable(_AUTH_ROOT, uses) | {_AUTH_ROOT}
    modules = {**dict.fromkeys(definitions, _REST), **dict.fromkeys(auth, _AUTH)}
    files = models.emit(definitions, modules, models.EmitOptions(bases=_BASES))
    return {path.removeprefix("types/"): body for path, body in files.items()}
