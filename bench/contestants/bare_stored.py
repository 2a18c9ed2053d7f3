"""The bare app with a store of its own: a message inserts a task and updates it when it ends."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import orjson
from bare import CARD, Receive, Send, live, new_task, reply

Write: TypeAlias = Callable[[str, bytes], Awaitable[None]]
"""Writes the id and the body of a task, and returns after the commit."""


def create_app(
    insert: Write, update: Write
) -> Callable[[dict[str, Any], Receive, Send], Awaitable[None]]:
    """Create the app."""

    async def app(scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await live(receive, send)
        if scope["method"] == "GET":
            return await reply(send, CARD)
        call = orjson.loads((await receive())["body"])
        task = new_task(call["params"]["message"], "TASK_STATE_SUBMITTED")
        await insert(task["id"], orjson.dumps(task))
        task["status"]["state"] = "TASK_STATE_COMPLETED"
        body = orjson.dumps(task)
        await update(task["id"], body)
        return await reply(
            send,
            b'{"jsonrpc":"2.0","id":%b,"result":{"task":%b}}' % (orjson.dumps(call["id"]), body),
        )

    return app
