"""A process that delivers webhooks to this machine until it is killed.

push_sender.py STORE
"""

from __future__ import annotations

import asyncio
import sys

from a2a_runtime.features.push.sender import PushSender, SenderOptions
from a2a_runtime.net.client import GuardedHttpClient, OutboundLimits
from a2a_runtime.net.policy import OutboundPolicy
from a2a_runtime.settings import Settings
from a2a_runtime.stores import StoreOptions, create_store
from a2a_runtime.testing import fail_points

RULES = SenderOptions(
    Settings(
        push_initial_delay=0.05,
        push_max_delay=0.2,
        push_concurrency=8,
        push_poll_interval=0.05,
        outbound_timeout=0.25,
    )
)


async def deliver(url: str) -> None:
    """Deliver until the end."""
    store = create_store(url, StoreOptions(fail_point=fail_points.fail_point_from_environment()))
    await store.open()
    async with (
        GuardedHttpClient(
            OutboundPolicy(allow_loopback=True), OutboundLimits(timeout_seconds=0.4)
        ) as client,
        PushSender(store, client, RULES),
    ):
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(deliver(sys.argv[1]))
