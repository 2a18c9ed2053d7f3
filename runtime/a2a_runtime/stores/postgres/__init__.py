"""The store in Postgres, its notifier, and the upgrade of its schema."""

from a2a_runtime.stores.postgres.notifier import PostgresNotifier
from a2a_runtime.stores.postgres.pool import PoolSettings
from a2a_runtime.stores.postgres.queue import upgrade_queue
from a2a_runtime.stores.postgres.schema import (
    REQUIRED_VERSION,
    read_version,
    render_upgrade,
    upgrade,
)
from a2a_runtime.stores.postgres.store import PostgresStore

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
