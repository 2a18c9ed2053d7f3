"""Cost of marking the last yielded chunk: three ways to iterate over a handler that yields, for the
decision in docs/adr/last-chunk.md.

direct     each chunk is written before the handler continues; the end is known after the last one
held       each chunk waits for the next one or for the end, at most 50 ms
closed     as direct, and an empty text marks the end

python bench/last_chunk.py
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import TypeAlias

CHUNKS = 2000
BOUND_SECONDS = 0.05
PACES = (0.0, 0.02, 0.2, 1.0)
ENDS = (0.0, 0.005, 0.03, 0.2)

Write: TypeAlias = Callable[[object, bool], Awaitable[None]]
Iterate: TypeAlias = Callable[[AsyncGenerator[float, None], Write], Awaitable[None]]


async def produce(count: int, pause: float, end: float) -> AsyncGenerator[float, None]:
    """Yield the time at which each chunk was made, and end some time after the last one."""
    for number in range(count):
        if number:
            await asyncio.sleep(pause)
        yield time.perf_counter()
    await asyncio.sleep(end)


async def direct(chunks: AsyncGenerator[float, None], write: Write) -> None:
    """Write each chunk at once."""
    async for chunk in chunks:
        await write(chunk, False)  # noqa: FBT003 - whether it is the last one


async def held(chunks: AsyncGenerator[float, None], write: Write) -> None:
    """Hold each chunk back until the next one, the end or the bound."""
    chunk = await anext(chunks, None)
    while chunk is not None:
        following = asyncio.ensure_future(anext(chunks, None))
        await asyncio.wait((following,), timeout=BOUND_SECONDS)
        is_last = following.done() and following.result() is None
        await write(chunk, is_last)
        chunk = await following


async def closed(chunks: AsyncGenerator[float, None], write: Write) -> None:
    """Write each chunk at once, and then an empty one."""
    await direct(chunks, write)
    await write("", True)  # noqa: FBT003 - as above


async def measure(
    iterate: Iterate, count: int, pause: float, end: float
) -> tuple[float, float, bool]:
    """Return the median delay of a chunk in ms, the processor time for each chunk in µs, and the
    mark of the last one.
    """
    delays: list[float] = []
    marks: list[bool] = []

    async def write(chunk: object, is_last: bool) -> None:  # noqa: FBT001 - as above
        if isinstance(chunk, float):
            delays.append(time.perf_counter() - chunk)
        marks.append(is_last)
        await asyncio.sleep(0)

    began = time.process_time()
    await iterate(produce(count, pause, end), write)
    return statistics.median(delays) * 1e3, (time.process_time() - began) / count * 1e6, marks[-1]


async def main() -> None:
    """Print the tables."""
    for iterate in (direct, held, closed):
        _, cost, _ = min(
            [await measure(iterate, CHUNKS, 0.0, 0.0) for _ in range(5)], key=lambda each: each[1]
        )
        print(f"{iterate.__name__:8} {cost:6.1f} µs of processor time for each chunk")
    for pause in PACES:
        delay, _, _ = await measure(held, 8, pause, 0.0)
        print(f"held, a chunk each {pause * 1000:5.0f} ms: shown {delay:5.1f} ms later")
    for end in ENDS:
        *_, marked = await measure(held, 8, 0.001, end)
        print(
            f"held, the end {end * 1000:4.0f} ms after the last chunk: "
            f"{'marked' if marked else 'not marked'}"
        )


if __name__ == "__main__":
    asyncio.run(main())
