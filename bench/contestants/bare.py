"""The limit: an ASGI app that parses what it is asked and answers the same bytes, with a dict for a
store, and does nothing else.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import orjson

CARD = orjson.dumps({"name": "bare", "description": "x" * 600})
TASKS: dict[str, dict[str, Any]] = {}
Receive: TypeAlias = Callable[[], Awaitable[dict[str, Any]]]
Send: TypeAlias = Callable[[dict[str, Any]], Awaitable[None]]


async def app(scope: dict[str, Any], receive: Receive, send: Send) -> None:
    """Answer."""
    if scope["type"] == "lifespan":
        return await live(receive, send)
    if scope["method"] == "GET":
        return await reply(send, CARD)
    call = orjson.loads((await receive())["body"])
    match call["method"]:
        case "GetTask":
            return await reply(
                send,
                orjson.dumps(
                    {"jsonrpc": "2.0", "id": call["id"], "result": TASKS[call["params"]["id"]]}
                ),
            )
        case "SendStreamingMessage":
            return await _stream(call, send)
    task = new_task(call["params"]["message"])
    word, _, _ = task["history"][0]["parts"][0]["text"].partition(" ")
    if word == "wait":
        await asyncio.sleep(0.05)
    TASKS[task["id"]] = task
    return await reply(
        send, orjson.dumps({"jsonrpc": "2.0", "id": call["id"], "result": {"task": task}})
    )


def new_task(message: dict[str, Any], state: str = "TASK_STATE_COMPLETED") -> dict[str, Any]:
    """Make the task of a message."""
    wire_id = _new()
    context_id = _new()
    return {
        "id": wire_id,
        "contextId": context_id,
        "status": {"state": state, "timestamp": "2026-11-05T10:00:00.000Z"},
        "artifacts": [{"artifactId": "result", "name": "result", "parts": message["parts"]}],
        "history": [{**message, "taskId": wire_id, "contextId": context_id}],
    }


def _new() -> str:
    text = os.urandom(16).hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


async def reply(send: Send, body: bytes) -> None:
    """Answer with a document."""
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _stream(call: dict[str, Any], send: Send) -> None:
    message = call["params"]["message"]
    word, _, number = message["parts"][0]["text"].partition(" ")
    task = new_task(message)
    names = {"taskId": task["id"], "contextId": task["contextId"]}
    await send(
        {
            "type": "http.response.start",
            "status": 200,
            "headers": [(b"content-type", b"text/event-stream")],
        }
    )
    await _say(send, call, {"task": task})
    for _ in range(int(number)):
        if word == "pace":
            await asyncio.sleep(0.02)
        await _say(
            send,
            call,
            {
                "artifactUpdate": {
                    **names,
                    "artifact": {
                        "artifactId": "result",
                        "name": "result",
                        "parts": [{"text": "chunk"}],
                    },
                }
            },
        )
    await _say(send, call, {"statusUpdate": {**names, "status": task["status"]}})
    await send({"type": "http.response.body", "body": b""})


async def _say(send: Send, call: dict[str, Any], event: dict[str, Any]) -> None:
    frame = b"data: %b\n\n" % orjson.dumps({"jsonrpc": "2.0", "id": call["id"], "result": event})
    await send({"type": "http.response.body", "body": frame, "more_body": True})


async def live(receive: Receive, send: Send) -> None:
    """Start and stop."""
    for what in ("startup", "shutdown"):
        await receive()
        await send({"type": f"lifespan.{what}.complete"})
