"""Delivering what is due. One per process; those of many processes share the work through the store.

    async with Deliverer(store, dialler, Rules.of(settings)) as deliverer:
        deliverer.ring()                       something was committed: look now, not at the next poll

It looks when somebody rings, when a call is done, and now and then, for what other processes have left and for what has become due again. Calls run
side by side, each configuration having one at a time.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Protocol, Self

from a2a_contract.base import JsonObject
from a2a_contract.errors import InvalidParamsError, TaskNotFoundError
from a2a_runtime.clock import Clock, SystemClock, to_datetime, to_rfc3339
from a2a_runtime.errors import ConcurrencyError, StoreUnavailableError
from a2a_runtime.net.client import OutboundResponse
from a2a_runtime.net.target import OutboundError
from a2a_runtime.push import retry_policy
from a2a_runtime.push.notification import PlaintextCipher, PushNotification, SecretCipher, build_delivery_id, build_notification, decrypt_config
from a2a_runtime.push.retry_policy import Attempt, AttemptOutcome, Delivered, GiveUp, PushRetryPolicy, Retry
from a2a_runtime.settings import Settings
from a2a_runtime.stores.base import Delivery, Outbox, TaskChange, TaskStore

log = logging.getLogger(__name__)

FAILURE_KEY_PREFIX = "a2a-gen/push-failed/"
"""Begin of the member of a task's metadata that says that a configuration has failed; the configuration's id follows."""

_MAX_BATCH = 32
_IDLE_SECONDS = 0.05
_LEASE_MARGIN_SECONDS = 15.0

Signer = Callable[[PushNotification], Mapping[str, str]]
"""Makes further headers for a notification that is about to be sent: proof of who sends it."""


class PushStores(Outbox, TaskStore, Protocol):
    """What the deliverer needs of a store."""


class HttpPoster(Protocol):
    """Calls webhooks, as the guarded dialler does."""

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> OutboundResponse:
        """Send something, and give back what was answered; ``DialError`` when nothing was."""
        ...


@dataclass(frozen=True, slots=True)
class SenderOptions:
    """How webhooks are called on this machine; times are in seconds."""

    retry_policy: PushRetryPolicy = PushRetryPolicy()  # noqa: RUF009  # frozen, all of it
    concurrency: int = 64
    poll_interval: float = 1.0
    lease_duration: float = 30.0  # longer than a call may take: then another process takes over what this one has left
    surfaces: frozenset[str] | None = None  # whose webhooks are called; None: of every one in the store

    @classmethod
    def from_settings(cls, settings: Settings, surfaces: frozenset[str] | None = None) -> SenderOptions:
        """Read what the operator has set."""
        return cls(
            PushRetryPolicy.from_settings(settings),
            settings.push_concurrency,
            settings.push_poll_interval,
            settings.outbound_timeout + _LEASE_MARGIN_SECONDS,
            surfaces,
        )


def skip_signing(_notification: PushNotification) -> Mapping[str, str]:
    """Prove nothing."""
    return {}


class PushSender:
    """Takes deliveries and sees to each of them."""

    def __init__(
        self,
        store: PushStores,
        poster: HttpPoster,
        options: SenderOptions | None = None,
        *,
        clock: Clock | None = None,
        sign: Signer = skip_signing,
        cipher: SecretCipher | None = None,
    ) -> None:
        self._store, self._poster, self._options, self._sign = store, poster, options or SenderOptions(), sign
        self._clock, self._cipher = clock or SystemClock(), cipher or PlaintextCipher()
        self._deliveries: set[asyncio.Task[None]] = set()
        self._wakeup = asyncio.Event()
        self._is_stopping = False
        self._loop: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin."""
        self._is_stopping = False
        self._loop = asyncio.create_task(self._run())

    async def stop(self, grace: float = 5.0) -> None:
        """Take nothing more, give calls that are under way some time, and leave the rest to others."""
        self._is_stopping = True
        self._wakeup.set()
        own = {task for task in (self._loop, *self._deliveries) if task is not None}
        if own:
            await asyncio.wait(own, timeout=grace)
        own |= self._deliveries  # what was taken just before the end
        for task in own:
            task.cancel()
        await asyncio.gather(*own, return_exceptions=True)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.stop()

    def on_notification(self, keys: Iterable[str] = ()) -> None:  # noqa: ARG002  # a hearer is told which tasks, but here it does not matter
        """Hear that something was committed."""
        self._wakeup.set()

    def on_reconnect(self) -> None:
        """Hear that bells may have been lost."""
        self._wakeup.set()

    async def _run(self) -> None:
        while not self._is_stopping:
            try:
                found = await self._claim_batch()
            except Exception as error:  # the edge of a background task: it has to go on
                log.warning("webhooks wait for the store", exc_info=None if isinstance(error, StoreUnavailableError) else error)
                found = 0
            if not found:
                await self._clock.sleep(_IDLE_SECONDS)  # a busy agent without webhooks rings all the time, and need not be heard each time
            with suppress(TimeoutError):
                async with asyncio.timeout(self._options.poll_interval):
                    await self._wakeup.wait()

    async def _claim_batch(self) -> int:
        room = min(self._options.concurrency - len(self._deliveries), _MAX_BATCH)
        self._wakeup.clear()  # before looking: who rings meanwhile is heard
        if not room:
            return 0
        batch = await self._store.claim_due(self._options.lease_duration, room, self._options.surfaces)
        for delivery in batch:
            call = asyncio.create_task(self._process(delivery))
            self._deliveries.add(call)
            call.add_done_callback(self._on_delivery_done)
        if len(batch) == room:
            self._wakeup.set()
        return len(batch)

    def _on_delivery_done(self, task: asyncio.Task[None]) -> None:
        self._deliveries.discard(task)
        self._wakeup.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a delivery was left where it was, and is due again later", exc_info=error)

    async def _process(self, delivery: Delivery) -> None:
        try:
            await self._apply_outcome(delivery, await self._attempt_delivery(delivery))
        except StoreUnavailableError as error:  # the delivery is due again when its time has run out
            log.warning("delivery %s: what became of it could not be stored: %s", build_delivery_id(delivery), error)
        except asyncio.CancelledError:
            with suppress(StoreUnavailableError):
                await self._store.retry(delivery, 0)
            raise

    async def _attempt_delivery(self, delivery: Delivery) -> AttemptOutcome:
        this = Attempt(delivery.attempts, to_datetime(self._clock.millis()), random.random())  # noqa: S311  # no secret
        try:
            config = decrypt_config(delivery.config, self._cipher, delivery.stored.scope, delivery.stored.wire_id)
            notification = build_notification(replace(delivery, config=config))
            if notification is None:
                return Delivered()
            headers = {**notification.headers, **self._sign(notification)}
            answer = await self._poster.post(notification.url, headers, notification.body)
        except OutboundError as error:
            return retry_policy.outcome_from_error(error, this, self._options.retry_policy)
        except InvalidParamsError as error:
            return GiveUp(error.message)
        except Exception:  # the edge of a background task: a fault in one delivery must not be tried for ever
            log.exception("delivery %s could not be made", build_delivery_id(delivery))
            return retry_policy.outcome_from_internal_error(this, self._options.retry_policy)
        return retry_policy.outcome_from_response(answer, this, self._options.retry_policy)

    async def _apply_outcome(self, delivery: Delivery, outcome: AttemptOutcome) -> None:
        match outcome:
            case Delivered():
                await self._store.mark_delivered(delivery)
            case Retry(seconds, reason):
                log.info("delivery %s, try %d: %s; again in %.1f s", build_delivery_id(delivery), delivery.attempts, reason, seconds)
                await self._store.retry(delivery, seconds)
            case GiveUp(reason, hint):
                log.warning("task %s: webhook %.100r has failed: %s %s", delivery.stored.key, delivery.config.id, reason, hint)
                if await self._store.mark_failed(delivery, reason):
                    await self._record_failure(delivery, reason)

    async def _record_failure(self, delivery: Delivery, reason: str) -> None:
        """Say in the task that nobody listens there any more; the store knows it already."""
        note: JsonObject = {f"{FAILURE_KEY_PREFIX}{delivery.config.id}": {"at": to_rfc3339(self._clock.millis()), "reason": reason}}
        with suppress(ConcurrencyError, TaskNotFoundError):
            await self._store.update_task(delivery.stored.scope, delivery.stored.key, TaskChange(metadata=note))
