"""The garbage collector of the process while an app runs, and lifespans that start last."""

from __future__ import annotations

import gc
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TypeAlias

from litestar import Litestar
from litestar.config.app import AppConfig
from litestar.plugins import InitPlugin

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false
# Litestar's own types leave the parameters of its lifespans open.

LifespanManager: TypeAlias = Callable[[Litestar], AbstractAsyncContextManager[None]]

_GC_THRESHOLDS = 10_000, 20, 20
"""Higher thresholds gain nearly nothing, and would keep large cyclic garbage of handlers for
longer.
"""


def start_last(app_config: AppConfig, manager: LifespanManager) -> None:
    """Add a lifespan that starts after those of all plugins, also of plugins behind this one, and
    stops before them.
    """
    managers = app_config.lifespan

    @asynccontextmanager
    async def append(_app: Litestar) -> AsyncGenerator[None, None]:
        if manager not in managers:  # an app may be started twice
            managers.append(manager)  # the app is just walking through this list
        yield

    managers.append(append)


class GcTuningPlugin(InitPlugin):
    """Freezes the objects of the program at start, and lets Python's garbage collector run less
    often.

    By default the collector visits the hundred thousand objects of the program again and again, for
    20 to 40 ms each time, and finds none to free: a fifth of the cost of a message, and its longest
    delays. The runtime leaves no cycles; those of handlers are still collected, a little later.

    The collector belongs to the process, so only apps of ``create_app`` are tuned by default. In
    another app ``A2APlugin`` freezes the objects and leaves the thresholds alone. To tune it, add
    the plugin after those that make objects at start:

        Litestar([…], plugins=[A2APlugin(agent, caller=host_user()), GcTuningPlugin()])
    """

    def on_app_init(self, app_config: AppConfig) -> AppConfig:
        """Tune the collector in the last lifespan of the app."""
        start_last(app_config, _tune_gc)
        return app_config


@asynccontextmanager
async def _tune_gc(_app: Litestar) -> AsyncGenerator[None, None]:
    """Freeze what is there, and undo it at the end: garbage among it is found then, also where apps
    come and go in one process.

    There is no collection first: it would take 20 ms of the start, and finds next to nothing.
    """
    if gc.get_freeze_count():  # tuned already: by the process, or by another app in it
        yield
        return
    thresholds = gc.get_threshold()
    gc.set_threshold(*_GC_THRESHOLDS)
    try:
        async with freeze_objects(_app):
            yield
    finally:
        gc.set_threshold(*thresholds)


@asynccontextmanager
async def freeze_objects(_app: Litestar) -> AsyncGenerator[None, None]:
    """Freeze what is there unless it is frozen, and undo it at the end."""
    if gc.get_freeze_count():
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
