"""Doing something at the last moment before waiting.

Whoever collects things to send them together does not want to wait while he still has some: what is there at once is taken, and before the first real
wait, what was taken is sent. A second task could do that too, but a task for each stream costs more than the writes that it saves.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from typing import Generic, TypeVar

T = TypeVar("T")


class BeforeItWaits(Generic[T]):
    """``await BeforeItWaits(it, first)`` awaits something, and if that has to wait, does ``first`` before."""

    def __init__(self, awaited: Awaitable[T], first: Callable[[], Awaitable[None]]) -> None:
        self._awaited, self._first = awaited, first

    def __await__(self) -> Generator[object, object, T]:
        """Run it up to where it waits, then ``first``; what it waits for may have come by then, which its task sees as always."""
        steps: Generator[object, object, T] = self._awaited.__await__()
        try:
            waited_for = next(steps)
        except StopIteration as done:
            result: T = done.value
            return result
        failure: BaseException | None = None
        try:
            yield from self._first().__await__()
        except BaseException as error:  # noqa: BLE001 - it is raised where something is awaited
            failure = error
        return (yield from _going_on(steps, waited_for, failure))


def _going_on(steps: Generator[object, object, T], waited_for: object, failure: BaseException | None) -> Generator[object, object, T]:
    """Go on with something that has begun, as ``yield from`` would."""
    try:
        while True:
            if failure is not None:
                waited_for, failure = steps.throw(failure), None
            try:
                heard = yield waited_for
            except BaseException as error:  # noqa: BLE001 - as above
                failure = error
            else:
                waited_for = steps.send(heard)
    except StopIteration as done:
        result: T = done.value
        return result
