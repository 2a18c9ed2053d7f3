"""The store in Postgres, its notifier, and the upgrade of its schema."""

from a2a_runtime.stores.postgres.notifier import PostgresNotifier
from a2a_runtime.stores.postgres.pool import PoolSettings
from a2a_runtime.stores.postgres.queue import upgrade_queue
from a2a_runtime.stores.postgres.schema import upgrade
from a2a_runtime.stores.postgres.store import PostgresStore

__all__ = ["PoolSettings", "PostgresNotifier", "PostgresStore", "upgrade", "upgrade_queue"]
