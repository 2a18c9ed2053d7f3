"""Sender of push notifications: one per process; processes share the work through the store.

    async with PushSender(store, http_client, SenderOptions(settings)) as sender:
        sender.on_notification()    something was committed: look now, not at the next poll

The sender looks for due deliveries after a notification, after a finished delivery, and every
``push_poll_interval``: for retries, and for those of processes that stopped. Deliveries run
concurrently, one at a time per config.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

from msgspec.structs import replace

from a2a_contract.base import JsonObject
from a2a_contract.errors import InvalidParamsError, TaskNotFoundError
from a2a_runtime.base.clock import Clock, SystemClock, to_datetime, to_rfc3339
from a2a_runtime.errors import ConcurrencyError, StoreUnavailableError
from a2a_runtime.features.push import retry_policy
from a2a_runtime.features.push.notification import build_delivery_id, build_notification
from a2a_runtime.features.push.retry_policy import Attempt, AttemptOutcome, Delivered, GiveUp, Retry
from a2a_runtime.net.client import OutboundResponse
from a2a_runtime.net.target import OutboundError
from a2a_runtime.ports.keys import PlaintextCipher, SecretCipher, WebhookSigner
from a2a_runtime.ports.observer import UNOBSERVED, Observation
from a2a_runtime.service.push_configs import FAILURE_KEY_PREFIX, decrypt_config
from a2a_runtime.settings import Settings
from a2a_runtime.stores.base import Outbox, TaskStore
from a2a_runtime.stores.models import Delivery, TaskChange

log = logging.getLogger(__name__)


_OUTCOMES: Mapping[type, str] = {Delivered: "delivered", Retry: "retry", GiveUp: "give_up"}
_MAX_BATCH = 32
_IDLE_SECONDS = 0.05
_LEASE_TIMEOUTS = 2.0
"""Lease of a delivery, in timeouts of its request; then another process takes over."""


class PushStores(Outbox, TaskStore, Protocol):
    """Store roles of the sender."""


class HttpPoster(Protocol):
    """Port: POST to webhooks; ``net.client.GuardedHttpClient`` implements it."""

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> OutboundResponse:
        """POST a body and return the response; ``OutboundError`` without one."""
        ...


def skip_signing(_url: str, _headers: Mapping[str, str], _body: bytes) -> Mapping[str, str]:
    """Add no signature."""
    return {}


@dataclass(frozen=True, slots=True)
class SenderOptions:
    """Replaceable parts of a sender."""

    settings: Settings = Settings()  # noqa: RUF009  # frozen, all of it
    surfaces: AbstractSet[str] | None = None  # None: all surfaces in the store; read for each claim
    clock: Clock = SystemClock()  # noqa: RUF009  # without state
    sign: WebhookSigner = skip_signing
    cipher: SecretCipher = PlaintextCipher()  # noqa: RUF009  # without state
    observation: Observation = UNOBSERVED


class PushSender:
    """Claims due deliveries and sends them."""

    def __init__(
        self, store: PushStores, poster: HttpPoster, options: SenderOptions | None = None
    ) -> None:
        self._store = store
        self._poster = poster
        self._options = options or SenderOptions()
        self._settings = self._options.settings
        self._clock = self._options.clock
        self._deliveries: set[asyncio.Task[None]] = set()
        self._wakeup = asyncio.Event()
        self._is_stopping = False
        self._loop: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start the loop."""
        self._is_stopping = False
        self._loop = asyncio.create_task(self._run())

    async def stop(self, grace: float = 5.0) -> None:
        """Stop claiming, wait up to ``grace`` seconds for running deliveries, and release the
        rest.
        """
        self._is_stopping = True
        self._wakeup.set()
        own = {task for task in (self._loop, *self._deliveries) if task is not None}
        if own:
            await asyncio.wait(own, timeout=grace)
        own |= self._deliveries  # claimed just before the end
        for task in own:
            task.cancel()
        await asyncio.gather(*own, return_exceptions=True)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop()

    def on_notification(
        self,
        keys: Iterable[str] = (),  # noqa: ARG002  # signature of NotificationListener
    ) -> None:
        """Wake up after a commit."""
        self._wakeup.set()

    def on_reconnect(self) -> None:
        """Wake up: notifications may have been lost."""
        self._wakeup.set()

    async def _run(self) -> None:
        while not self._is_stopping:
            try:
                count = await self._claim_batch()
            except Exception as error:  # the edge of a background task: the loop must continue
                if not isinstance(error, StoreUnavailableError):  # the store logs its outages
                    log.warning("push sender: failed, retrying", exc_info=error)
                count = 0
            if not count:
                # A busy agent without webhooks notifies all the time; this limits the queries.
                await self._clock.sleep(_IDLE_SECONDS)
            with suppress(TimeoutError):
                async with asyncio.timeout(self._settings.push_poll_interval):
                    await self._wakeup.wait()

    async def _claim_batch(self) -> int:
        free = min(self._settings.push_concurrency - len(self._deliveries), _MAX_BATCH)
        self._wakeup.clear()  # before the query: a notification meanwhile counts
        if not free:
            return 0
        batch = await self._store.claim_due(
            _LEASE_TIMEOUTS * self._settings.outbound_timeout, free, self._options.surfaces
        )
        for delivery in batch:
            task = asyncio.create_task(self._process(delivery))
            self._deliveries.add(task)
            task.add_done_callback(self._on_delivery_done)
        if len(batch) == free:
            self._wakeup.set()
        return len(batch)

    def _on_delivery_done(self, task: asyncio.Task[None]) -> None:
        self._deliveries.discard(task)
        self._wakeup.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("delivery: failed, due again after its lease", exc_info=error)

    async def _process(self, delivery: Delivery) -> None:
        try:
            await self._apply_outcome(delivery, await self._attempt_delivery(delivery))
        except StoreUnavailableError as error:  # the delivery is due again after its lease
            log.warning("delivery %s: outcome not stored: %s", build_delivery_id(delivery), error)
        except asyncio.CancelledError:
            with suppress(StoreUnavailableError):
                await self._store.retry(delivery, 0)
            raise

    async def _attempt_delivery(self, delivery: Delivery) -> AttemptOutcome:
        jitter = random.random()  # noqa: S311  # no secret
        attempt = Attempt(delivery.attempts, to_datetime(self._clock.millis()), jitter)
        try:
            config = decrypt_config(
                delivery.config,
                self._options.cipher,
                delivery.stored.scope,
                delivery.stored.wire_id,
            )
            notification = build_notification(replace(delivery, config=config))
            if notification is None:
                return Delivered()
            headers = {
                **notification.headers,
                **self._options.sign(notification.url, notification.headers, notification.body),
            }
            with ExitStack() as stack:
                for deliver in self._options.observation.deliver:
                    headers |= stack.enter_context(deliver(delivery.stored.task.model))
                response = await self._poster.post(notification.url, headers, notification.body)
        # The edge of a background task: a bug must not be retried forever.
        except Exception as error:
            if not isinstance(error, OutboundError | InvalidParamsError):
                log.exception("delivery %s: failed", build_delivery_id(delivery))
            return retry_policy.outcome_from_error(error, attempt, self._settings)
        return retry_policy.outcome_from_response(response, attempt, self._settings)

    async def _apply_outcome(self, delivery: Delivery, outcome: AttemptOutcome) -> None:
        for announce in self._options.observation.delivery_attempted:
            announce(_OUTCOMES[type(outcome)])
        match outcome:
            case Delivered():
                await self._store.mark_delivered(delivery)
            case Retry(seconds, reason):
                log.info(
                    "delivery %s: attempt %d failed: %s; retry in %.1f s",
                    build_delivery_id(delivery),
                    delivery.attempts,
                    reason,
                    seconds,
                )
                await self._store.retry(delivery, seconds)
                self._wake_after(seconds)
            case GiveUp(reason, hint):
                log.warning(
                    "task %s: push config %.100r failed: %s %s",
                    delivery.stored.key,
                    delivery.config.id,
                    reason,
                    hint,
                )
                if await self._store.mark_failed(delivery, reason):
                    await self._record_failure(delivery, reason)

    def _wake_after(self, seconds: float) -> None:
        """Look for due deliveries after a time, instead of at the next poll, which is for those of
        other processes.
        """
        asyncio.get_running_loop().call_later(seconds, self._wakeup.set)

    async def _record_failure(self, delivery: Delivery, reason: str) -> None:
        """Record the failure in the task's metadata; the store has it already."""
        note: JsonObject = {
            f"{FAILURE_KEY_PREFIX}{delivery.config.id}": {
                "at": to_rfc3339(self._clock.millis()),
                "reason": reason,
            }
        }
        with suppress(ConcurrencyError, TaskNotFoundError):
            await self._store.update_task(
                delivery.stored.scope, delivery.stored.key, TaskChange(metadata=note)
            )
