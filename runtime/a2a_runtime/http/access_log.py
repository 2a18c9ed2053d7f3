"""Access log: one line for each HTTP request of an app, when its response has ended.

    a2a_runtime.access    GET /tasks/7 200 in 3.2 ms, GetTask, from 10.0.0.9

Query strings, headers and callers are not in it. A response that has not begun when its client is
gone has the status 499, as proxies write it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from a2a_runtime.base.logs import access_log, sanitize
from a2a_runtime.base.origin import Origin, current_origin

AnyApp: TypeAlias = Callable[[Any, Any, Any], Awaitable[object]]

_CLIENT_GONE = 499


class AccessLog:
    """ASGI middleware that logs requests, with their duration and, where an agent has answered, its
    operation.
    """

    def __init__(self, app: AnyApp) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401 - of any framework
        """Run the app."""
        if scope["type"] != "http" or not access_log.isEnabledFor(logging.INFO):
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        status = _CLIENT_GONE
        origin: Origin | None = None

        async def send_watched(message: Any) -> None:  # noqa: ANN401 - as above
            nonlocal status, origin
            if message["type"] == "http.response.start":
                status = message["status"]
                origin = current_origin.get()
            await send(message)

        try:
            await self._app(scope, receive, send_watched)
        finally:
            _write(scope, origin, status, time.perf_counter() - began)


def _write(scope: Any, origin: Origin | None, status: int, seconds: float) -> None:  # noqa: ANN401 - as above
    client = scope.get("client")
    facts = {
        "method": scope["method"],
        "path": sanitize(scope["path"]),
        "status": status,
        "milliseconds": round(seconds * 1000, 1),
        "operation": "" if origin is None else origin.operation,
        "client": client[0] if client else "",
        "request_id": "" if origin is None else origin.request_id,
        "trace_id": "" if origin is None else origin.trace_id,
    }
    text = "%(method)s %(path)s %(status)d in %(milliseconds)g ms%(done)s, from %(client)s"
    access_log.info(
        text,
        {**facts, "done": f", {facts['operation']}" if facts["operation"] else ""},
        extra=facts,
    )
