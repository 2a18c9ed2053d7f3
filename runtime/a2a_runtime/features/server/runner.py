"""Run of a server until it is stopped."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from types import FrameType
from typing import Any, Protocol, TypeAlias

from a2a_runtime.base.importing import explain_missing

with explain_missing(__name__, "serve"):
    import uvicorn
    from uvicorn.lifespan.on import LifespanOn

from a2a_runtime.errors import ListenError
from a2a_runtime.http.health import ProcessHealth

Drain: TypeAlias = Callable[[], Coroutine[object, object, None]]


class InheritedSocket(Protocol):
    """The socket of a parent process, which waits until it is served."""

    @property
    def listening(self) -> socket.socket:
        """The socket."""
        ...

    def report_start(self) -> None:
        """Tell the parent that the server has started."""
        ...


class DrainingServer(uvicorn.Server):
    """A server that reports that it is about to stop before it closes its port, so that load
    balancers send new requests elsewhere.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        delay_seconds: float,
        drain: Drain | None = None,
        inherited: InheritedSocket | None = None,
    ) -> None:
        super().__init__(config)
        self._drain = drain
        self._inherited = inherited
        self._delay_seconds = delay_seconds
        self._stops_at: float | None = None

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve on the port, or on the socket of the parent process."""
        if self._inherited is not None:
            sockets = [self._inherited.listening]
        super().run(sockets)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and tell the parent process."""
        await super().startup(sockets)
        if self._inherited is not None and self.started:
            self._inherited.report_start()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to stop; a second signal ends the delay."""
        if self._delay_seconds and self._stops_at is None:
            ProcessHealth.is_draining = True
            self._stops_at = time.monotonic() + self._delay_seconds
            return
        super().handle_exit(sig, frame)

    async def on_tick(self, counter: int) -> bool:
        """Stop at the end of the delay."""
        if self._stops_at is not None and time.monotonic() >= self._stops_at:
            self.should_exit = True
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close the port, and let work end while its requests and streams are still open, so that
        they report how it ends.
        """
        if self._drain is None:
            await super().shutdown(sockets)
            return
        drain = asyncio.create_task(self._drain())
        try:
            await super().shutdown(sockets)
        finally:
            drain.cancel()
            with suppress(asyncio.CancelledError):
                await drain


def run_server(
    config: uvicorn.Config,
    delay_seconds: float = 0.0,
    drain: Drain | None = None,
    inherited: InheritedSocket | None = None,
) -> BaseException | None:
    """Serve until the process is stopped; return the error of a start that fails.

    ``drain`` ends the work of the app while it is being stopped.
    """
    server = DrainingServer(config, delay_seconds, drain, inherited)
    failures: list[BaseException | None] = []

    class Lifespan(LifespanOn):
        """Keeps the error of a failed start, instead of a traceback in the log."""

        async def send(self, message: Any) -> None:  # noqa: ANN401 - a union of uvicorn
            if message["type"] == "lifespan.startup.failed":
                # Litestar sends this while it handles the error
                failures.append(sys.exc_info()[1])
                if failures[0]:
                    message = {**message, "message": ""}
            await super().send(message)

    config.lifespan_class = Lifespan
    if threading.current_thread() is threading.main_thread():
        # uvicorn handles both, and raises them again after the shutdown
        for stop in (signal.SIGINT, signal.SIGTERM):
            signal.signal(stop, signal.SIG_IGN)
    # uvicorn exits if the start fails
    with suppress(SystemExit):
        server.run()
    if failures and failures[0] is not None:
        return failures[0]
    if server.started:
        return None
    return ListenError(f"{config.host}:{config.port}: not served; the lines above have the reason")
