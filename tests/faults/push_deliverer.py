"""A process that delivers webhooks to this machine until it is killed.

push_deliverer.py STORE
"""

from __future__ import annotations

import asyncio
import sys

from a2a_runtime.net.client import GuardedDialler, Limits
from a2a_runtime.net.policy import Policy
from a2a_runtime.push.retry_policy import Patience
from a2a_runtime.push.sender import Deliverer, Rules
from a2a_runtime.stores import StoreOptions, open_store
from a2a_runtime.testing import faults

RULES = Rules(Patience(first_delay=0.05, longest_delay=0.2), concurrency=8, poll=0.05, lease=0.5)


async def deliver(url: str) -> None:
    """Deliver until the end."""
    store = open_store(url, StoreOptions(fault=faults.from_environment()))
    await store.open()
    async with GuardedDialler(Policy(loopback=True), Limits(seconds=0.4)) as dialler, Deliverer(store, dialler, RULES):
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(deliver(sys.argv[1]))
