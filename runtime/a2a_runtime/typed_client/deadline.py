"""How long a call may take as a whole, over all of its messages and questions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TypeVar

from a2a_runtime.typed_client.errors import DeadlineError

T = TypeVar("T")


async def in_time(events: AsyncGenerator[T, None], seconds: float | None) -> AsyncGenerator[T, None]:
    """Give what comes until time is up, and then ``DeadlineError``; what the caller does in between counts and is not interrupted."""
    end = None if seconds is None else asyncio.get_running_loop().time() + seconds
    async with aclosing(events):
        while True:
            limit = asyncio.timeout_at(end)
            try:
                async with limit:
                    event = await anext(events, None)
            except TimeoutError as error:
                if not limit.expired():  # it is that of somebody within
                    raise
                raise DeadlineError(f"the call has taken longer than {seconds} s") from error
            if event is None:
                return
            yield event
