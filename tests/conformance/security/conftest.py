"""Databases on a real PostgreSQL."""

from a2a_runtime.testing.postgres import postgres_databases, postgres_url

__all__ = ["postgres_databases", "postgres_url"]
