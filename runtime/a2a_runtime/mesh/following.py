"""Following a task to its end, for a stream that tells what is worth telling of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import Any

from a2a_contract.lifecycle import TERMINAL
from a2a_contract.v1_0 import StreamResponse
from a2a_runtime.errors import EventsGoneError, StoreUnavailableError
from a2a_runtime.execution.engine import Engine
from a2a_runtime.execution.reading import response
from a2a_runtime.mesh.news import News
from a2a_runtime.stores.port import LoggedEvent, StoredTask


async def follow(engine: Engine, stored: StoredTask, news: News) -> AsyncGenerator[StreamResponse, None]:
    """Yield what is new about a task, and its end."""
    async with aclosing(_unfolding(engine, stored)) as events:
        async for event in events:
            if event is None:
                for each in news.opening(stored.updated_at):
                    yield each
            elif event.state not in TERMINAL:
                update = response(event).model.status_update
                if update is not None:
                    for each in news.status(update.status, update.metadata):
                        yield each
    for each in news.end((await _ended(engine, stored)).task.model):
        yield each


async def _unfolding(engine: Engine, stored: StoredTask) -> AsyncGenerator[LoggedEvent | None, None]:
    """Yield the events of a task, and ``None`` at the moment when its handler hands back a job."""
    handed_back = engine.runner.handed_back(stored.key)
    async with aclosing(_patiently(engine, stored)) as events:
        following: asyncio.Future[LoggedEvent | None] | None = None
        try:
            while True:
                following = following or asyncio.ensure_future(anext(events, None))
                waiting: list[asyncio.Future[Any]] = [following] if handed_back is None else [following, handed_back]
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                if handed_back is not None and handed_back.done():
                    handed_back = None
                    yield None
                if following.done():
                    event, following = following.result(), None
                    if event is None:
                        return
                    yield event
        finally:
            if following is not None:
                following.cancel()
                await asyncio.gather(following, return_exceptions=True)


async def _patiently(engine: Engine, stored: StoredTask) -> AsyncGenerator[LoggedEvent, None]:
    """Yield the events of a task however long its store is away, or until the log has forgotten them because the task is over."""
    cursor = stored.last_seq
    with suppress(EventsGoneError):
        while True:
            try:
                async with aclosing(engine.after(stored.key, cursor)) as events:
                    async for event in events:
                        cursor = event.seq
                        yield event
            except StoreUnavailableError:
                continue
            return


async def _ended(engine: Engine, stored: StoredTask) -> StoredTask:
    """Read a task that is over, as soon as its store can be read."""
    while True:
        with suppress(StoreUnavailableError):
            return await engine.load(stored.scope, stored.wire_id)
        await asyncio.sleep(1)
