"""The store in Postgres, its notifier, and the upgrade of its schema.

Loaded where the store is ``postgresql://…``.
"""

from a2a_runtime.features.postgres.notifier import PostgresNotifier
from a2a_runtime.features.postgres.pool import PoolSettings
from a2a_runtime.features.postgres.run_queue import upgrade_queue
from a2a_runtime.features.postgres.schema import (
    REQUIRED_VERSION,
    read_version,
    render_upgrade,
    upgrade,
)
from a2a_runtime.features.postgres.store import PostgresStore

__all__ = [
    "REQUIRED_VERSION",
    "PoolSettings",
    "PostgresNotifier",
    "PostgresStore",
    "read_version",
    "render_upgrade",
    "upgrade",
    "upgrade_queue",
]
