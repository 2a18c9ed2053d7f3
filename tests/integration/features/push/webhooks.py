"""Helpers of the webhook tests: configurations, tasks with events, and received calls."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import AuthenticationInfo, TaskPushNotificationConfig
from a2a_runtime.features.push.notification import ID_HEADER
from a2a_runtime.features.push.sender import PushSender, SenderOptions
from a2a_runtime.net.client import GuardedHttpClient, OutboundLimits
from a2a_runtime.net.policy import OutboundPolicy
from a2a_runtime.service.push_configs import FAILURE_KEY_PREFIX
from a2a_runtime.settings import Settings
from a2a_runtime.stores.base import Store
from a2a_runtime.stores.models import StoredTask, TaskChange
from a2a_runtime.testing.store_contract.case import SCOPE, append_artifact
from a2a_runtime.testing.webhook_receiver import WebhookReceiver, WebhookRequest

QUICK = SenderOptions(
    Settings(
        push_initial_delay=0.02,
        push_max_delay=0.2,
        push_max_attempts=6,
        push_concurrency=16,
        push_poll_interval=0.02,
        outbound_timeout=1,
    )
)
HASTY = OutboundLimits(connect_timeout_seconds=0.5, timeout_seconds=0.5)
PATIENT = OutboundLimits(timeout_seconds=60)
SECRETS = {
    "token": "s3cret-token",
    "authentication": AuthenticationInfo(scheme="Bearer", credentials="s3cret-credentials"),
}
HERE = OutboundPolicy(allow_loopback=True)


@asynccontextmanager
async def deliver_webhooks(
    store: Store,
    rules: SenderOptions = QUICK,
    policy: OutboundPolicy = HERE,
    limits: OutboundLimits = PATIENT,
) -> AsyncIterator[PushSender]:
    """Deliver what is due, to this machine too."""
    async with (
        GuardedHttpClient(policy, limits) as client,
        PushSender(store, client, rules) as sender,
    ):
        yield sender


def hook(
    receiver: WebhookReceiver, name: str = "a", **members: object
) -> TaskPushNotificationConfig:
    """Make a configuration that leads to a receiver."""
    return TaskPushNotificationConfig.model_validate(
        {"id": name, "url": f"{receiver.url}/{name}"} | members
    )


def hurry(receiver: WebhookReceiver) -> None:
    """Let a receiver answer at once what it still holds back."""
    receiver._is_closed.set()


async def run(store: Store, task: StoredTask, chunks: int) -> int:
    """Work on a task and end it; the number of its last event."""
    for n in range(chunks):
        await store.update_task(
            SCOPE, task.key, TaskChange(chunks=[append_artifact("log", str(n))])
        )
    written = await store.update_task(SCOPE, task.key, TaskChange(state=State.COMPLETED))
    return written.events[-1].seq


def ids(calls: list[WebhookRequest], name: str = "a") -> list[str]:
    """Say which deliveries one webhook has heard, in the order of their first calls."""
    return list(
        dict.fromkeys(
            call.headers[ID_HEADER.lower()] for call in calls if call.path.endswith(f"/{name}")
        )
    )


def bodies(calls: list[WebhookRequest], name: str = "a") -> list[object]:
    """Say what one webhook has heard, each delivery once."""
    received = {
        call.headers[ID_HEADER.lower()]: call.json()
        for call in calls
        if call.path.endswith(f"/{name}")
    }
    return list(received.values())


async def read_log(store: Store, task: StoredTask) -> list[object]:
    """Read what there was to hear."""
    return [json.loads(event.body) for event in await store.read_events(task.key, 0)]


async def wait_for_failure(store: Store, task: StoredTask, name: str, reason: str) -> None:
    """Wait until the task says that one of its webhooks has failed."""
    async with asyncio.timeout(30):
        while True:
            loaded = await store.load_task(SCOPE, task.wire_id)
            assert loaded is not None
            note = (loaded.task.model.metadata or {}).get(f"{FAILURE_KEY_PREFIX}{name}")
            if note is not None:
                assert isinstance(note, dict)
                assert note["reason"] == reason
                return
            await asyncio.sleep(0.01)
