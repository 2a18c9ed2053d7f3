"""How the deliverer of a process hears of what the process has committed, without anybody else knowing of it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from a2a_runtime.streams.doorbell import Doorbell, Hearer


class OverheardBell:
    """A doorbell that somebody in this process overhears: rung for the other processes, if there are any, and heard here too."""

    def __init__(self, hearer: Hearer, bell: Doorbell | None = None) -> None:
        self._hearer, self._bell = hearer, bell

    def ring(self, keys: Iterable[str]) -> None:
        """Tell the one who overhears, and the other processes."""
        keys = tuple(keys)
        self._hearer.ring(keys)
        if self._bell is not None:
            self._bell.ring(keys)

    async def listen(self, hearer: Hearer) -> None:
        """Pass on what is heard from the other processes, until cancelled."""
        if self._bell is not None:
            await self._bell.listen(hearer)
        else:
            await asyncio.get_running_loop().create_future()
