"""Runs in a process of its own: the agent under test on a Postgres that it shares with others.

    replica.py URL [LEASE]

Says at which port it listens. With a lease, in seconds, it is missed soon when it dies.
"""

from __future__ import annotations

import socket
import sys

import uvicorn
from conformance.agent import RELEASED, app_under_test

from a2a_contract.dialects import V1_1_DRAFT
from a2a_runtime.features.postgres import PostgresStore
from a2a_runtime.settings import Settings
from a2a_runtime.stores.base import StoreOptions

DIALECTS = RELEASED | {V1_1_DRAFT.name}
SETTINGS = Settings(
    long_poll_timeout=300,  # longer than any test
    shutdown_grace=0,
    cancel_grace=1,
    cancel_timeout=5,
    lease_renew_interval=0.2,
    orphan_scan_interval=0.2,
    deadline_check_interval=0.05,
    working_delay=0.005,
)


def main(url: str, lease: str | None = None) -> None:
    """Serve until killed."""
    listener = socket.create_server(("127.0.0.1", 0))
    sys.stdout.write(f"{listener.getsockname()[1]}\n")
    sys.stdout.flush()
    app = app_under_test(
        PostgresStore(url, options=StoreOptions(lease_seconds=float(lease))) if lease else url,
        SETTINGS,
        DIALECTS,
    )
    server = uvicorn.Server(
        uvicorn.Config(app, log_level="critical", lifespan="on", timeout_graceful_shutdown=2)
    )
    server.run(sockets=[listener])


if __name__ == "__main__":
    main(*sys.argv[1:])
