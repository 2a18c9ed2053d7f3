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
from a2a_runtime.clock import Clock, SystemClock, moment, timestamp
from a2a_runtime.errors import ConcurrencyError, StoreUnavailableError
from a2a_runtime.net.client import Answer
from a2a_runtime.net.target import DialError
from a2a_runtime.push import retry_policy
from a2a_runtime.push.notification import GlassVault, Notification, Sealer, id_of, notification_of, opened
from a2a_runtime.push.retry_policy import Again, Arrived, Failed, Patience, Try, Verdict
from a2a_runtime.settings import Settings
from a2a_runtime.stores.base import Change, Delivery, Outbox, TaskStore

log = logging.getLogger(__name__)

FAILURE = "a2a-gen/push-failed/"
"""Begin of the member of a task's metadata that says that a configuration has failed; the configuration's id follows."""

_BATCH = 32
_QUIET = 0.05
_LEASE_MARGIN = 15.0

Signer = Callable[[Notification], Mapping[str, str]]
"""Makes further headers for a notification that is about to be sent: proof of who sends it."""


class PushStores(Outbox, TaskStore, Protocol):
    """What the deliverer needs of a store."""


class Poster(Protocol):
    """Calls webhooks, as the guarded dialler does."""

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Send something, and give back what was answered; ``DialError`` when nothing was."""
        ...


@dataclass(frozen=True, slots=True)
class Rules:
    """How webhooks are called on this machine; times are in seconds."""

    patience: Patience = Patience()  # noqa: RUF009  # frozen, all of it
    concurrency: int = 64
    poll: float = 1.0
    lease: float = 30.0  # longer than a call may take: then another process takes over what this one has left
    surfaces: frozenset[str] | None = None  # whose webhooks are called; None: of every one in the store

    @classmethod
    def of(cls, settings: Settings, surfaces: frozenset[str] | None = None) -> Rules:
        """Read what the operator has set."""
        return cls(Patience.of(settings), settings.push_concurrency, settings.push_poll, settings.dial_timeout + _LEASE_MARGIN, surfaces)


def unsigned(_notification: Notification) -> Mapping[str, str]:
    """Prove nothing."""
    return {}


class Deliverer:
    """Takes deliveries and sees to each of them."""

    def __init__(
        self,
        store: PushStores,
        poster: Poster,
        rules: Rules | None = None,
        *,
        clock: Clock | None = None,
        sign: Signer = unsigned,
        vault: Sealer | None = None,
    ) -> None:
        self._store, self._poster, self._rules, self._sign = store, poster, rules or Rules(), sign
        self._clock, self._vault = clock or SystemClock(), vault or GlassVault()
        self._calls: set[asyncio.Task[None]] = set()
        self._news = asyncio.Event()
        self._closing = False
        self._looking: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Begin."""
        self._closing = False
        self._looking = asyncio.create_task(self._look_again_and_again())

    async def close(self, grace: float = 5.0) -> None:
        """Take nothing more, give calls that are under way some time, and leave the rest to others."""
        self._closing = True
        self._news.set()
        own = {task for task in (self._looking, *self._calls) if task is not None}
        if own:
            await asyncio.wait(own, timeout=grace)
        own |= self._calls  # what was taken just before the end
        for task in own:
            task.cancel()
        await asyncio.gather(*own, return_exceptions=True)

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    def ring(self, keys: Iterable[str] = ()) -> None:  # noqa: ARG002  # a hearer is told which tasks, but here it does not matter
        """Hear that something was committed."""
        self._news.set()

    def ring_all(self) -> None:
        """Hear that bells may have been lost."""
        self._news.set()

    async def _look_again_and_again(self) -> None:
        while not self._closing:
            try:
                found = await self._look()
            except Exception as error:  # the edge of a background task: it has to go on
                log.warning("webhooks wait for the store", exc_info=None if isinstance(error, StoreUnavailableError) else error)
                found = 0
            if not found:
                await self._clock.sleep(_QUIET)  # a busy agent without webhooks rings all the time, and need not be heard each time
            with suppress(TimeoutError):
                async with asyncio.timeout(self._rules.poll):
                    await self._news.wait()

    async def _look(self) -> int:
        room = min(self._rules.concurrency - len(self._calls), _BATCH)
        self._news.clear()  # before looking: who rings meanwhile is heard
        if not room:
            return 0
        batch = await self._store.due(self._rules.lease, room, self._rules.surfaces)
        for delivery in batch:
            call = asyncio.create_task(self._see_to(delivery))
            self._calls.add(call)
            call.add_done_callback(self._done)
        if len(batch) == room:
            self._news.set()
        return len(batch)

    def _done(self, call: asyncio.Task[None]) -> None:
        self._calls.discard(call)
        self._news.set()
        if not call.cancelled() and (error := call.exception()) is not None:
            log.error("a delivery was left where it was, and is due again later", exc_info=error)

    async def _see_to(self, delivery: Delivery) -> None:
        try:
            await self._carry_out(delivery, await self._verdict(delivery))
        except StoreUnavailableError as error:  # the delivery is due again when its time has run out
            log.warning("delivery %s: what became of it could not be stored: %s", id_of(delivery), error)
        except asyncio.CancelledError:
            with suppress(StoreUnavailableError):
                await self._store.retry(delivery, 0)
            raise

    async def _verdict(self, delivery: Delivery) -> Verdict:
        this = Try(delivery.attempts, moment(self._clock.millis()), random.random())  # noqa: S311  # no secret
        try:
            config = opened(delivery.config, self._vault, delivery.stored.scope, delivery.stored.wire_id)
            notification = notification_of(replace(delivery, config=config))
            if notification is None:
                return Arrived()
            headers = {**notification.headers, **self._sign(notification)}
            answer = await self._poster.post(notification.url, headers, notification.body)
        except DialError as error:
            return retry_policy.of_error(error, this, self._rules.patience)
        except InvalidParamsError as error:
            return Failed(error.message)
        except Exception:  # the edge of a background task: a fault in one delivery must not be tried for ever
            log.exception("delivery %s could not be made", id_of(delivery))
            return retry_policy.of_fault(this, self._rules.patience)
        return retry_policy.of_answer(answer, this, self._rules.patience)

    async def _carry_out(self, delivery: Delivery, found: Verdict) -> None:
        match found:
            case Arrived():
                await self._store.settle(delivery)
            case Again(seconds, reason):
                log.info("delivery %s, try %d: %s; again in %.1f s", id_of(delivery), delivery.attempts, reason, seconds)
                await self._store.retry(delivery, seconds)
            case Failed(reason, hint):
                log.warning("task %s: webhook %.100r has failed: %s %s", delivery.stored.key, delivery.config.id, reason, hint)
                if await self._store.give_up(delivery, reason):
                    await self._note(delivery, reason)

    async def _note(self, delivery: Delivery, reason: str) -> None:
        """Say in the task that nobody listens there any more; the store knows it already."""
        note: JsonObject = {f"{FAILURE}{delivery.config.id}": {"at": timestamp(self._clock.millis()), "reason": reason}}
        with suppress(ConcurrencyError, TaskNotFoundError):
            await self._store.update_task(delivery.stored.scope, delivery.stored.key, Change(metadata=note))
