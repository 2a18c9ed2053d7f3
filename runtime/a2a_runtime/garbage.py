"""Python's garbage collector, set for a server.

Left as it is, it walks through the hundred thousand objects of the program itself again and again, 20 to 40 ms each time, to find none of them gone:
a fifth of what a message costs, and the longest waits. So what is there when the app has started is taken out of its sight, and the rest is looked at
less often. The runtime's own work leaves nothing to the collector; what handlers leave to it is found all the same, a little later.

The collector is the whole process's, so only apps that ``create_app`` makes are set like this; any other one asks for it:

    Litestar([…], plugins=[A2APlugin(agent), SteadyGarbage()])          after the plugins that make objects when the app starts
"""

# pyright: reportUnknownMemberType=false
# Litestar's own types leave open what a lifespan gives.

from __future__ import annotations

import gc
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from litestar import Litestar
from litestar.config.app import AppConfig
from litestar.plugins import InitPlugin

_THRESHOLDS = 10_000, 20, 20
"""Beyond these nearly nothing is left to win, and handlers that hold much in cycles would hold it for longer."""


class SteadyGarbage(InitPlugin):
    """Sets the collector for as long as the app runs."""

    def on_app_init(self, app_config: AppConfig) -> AppConfig:
        """Be the last that the app does to start."""
        app_config.lifespan.append(_steady)
        return app_config


@asynccontextmanager
async def _steady(_app: Litestar) -> AsyncGenerator[None, None]:
    """Freeze what is there, and undo it at the end: what has become garbage meanwhile is found then, also where apps come and go in one process.

    There is no collection first: it would take 20 ms of the start, and finds next to nothing.
    """
    if gc.get_freeze_count():  # somebody has seen to it: whoever started the process, or another app in it
        yield
        return
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
