"""A server of the protocol of 2025-11-25 over stdio, written by hand: JSON-RPC on lines, questions
within calls.

python stdio_server.py [FILE [wait]]    ``append`` writes a line to FILE, and then may wait
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from itertools import count
from typing import Any

FORM = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
SCHEMAS: dict[str, dict[str, Any]] = {
    name: {}
    for name in ("ask", "echo", "hold", "release", "die", "pid", "append", "ask-url", "needs-url")
} | {
    "append-again": {"annotations": {"idempotentHint": True, "destructiveHint": False}},
    "grow": {},
}
GROWN = {"grown": {}}
SIGN_IN = {"mode": "url", "message": "Sign in", "url": "https://id.example.com/in"}


class Server:
    """One client."""

    def __init__(self) -> None:
        self.tools = dict(SCHEMAS)
        self.answers: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self.running: dict[object, asyncio.Task[None]] = {}
        self.released = asyncio.Event()
        self.numbers = count(1)
        self.file = sys.argv[1] if len(sys.argv) > 1 else ""
        self.waits = "wait" in sys.argv

    def send(self, **body: object) -> None:
        """Write a message."""
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **body}) + "\n")
        sys.stdout.flush()

    async def ask(self, params: dict[str, Any]) -> dict[str, Any]:
        """Ask the client; nothing says for which call."""
        number = f"q-{next(self.numbers)}"
        answer = self.answers[number] = asyncio.get_running_loop().create_future()
        self.send(id=number, method="elicitation/create", params=params)
        return await answer

    async def call(self, number: object, params: dict[str, Any]) -> None:
        """Run a tool."""
        try:
            said = await self.run(
                params["name"],
                params.get("arguments") or {},
                (params.get("_meta") or {}).get("progressToken"),
            )
        except LookupError as error:
            self.send(id=number, error=error.args[0])
        else:
            self.send(id=number, result={"content": [{"type": "text", "text": said}]})

    async def run(self, name: str, arguments: dict[str, Any], token: object) -> str:  # noqa: C901, PLR0911 - one branch for each tool
        """Do the work of a tool."""
        match name:
            case "ask":
                answer = await self.ask({"message": "Which word?", "requestedSchema": FORM})
                self.send(
                    method="notifications/progress",
                    params={
                        "progressToken": token,
                        "progress": 1,
                        "total": 2,
                        "message": "answered",
                    },
                )
                return json.dumps(answer.get("error") or answer["result"])
            case "ask-url":
                answer = await self.ask({**SIGN_IN, "elicitationId": "e-1"})
                return str(answer["result"]["action"])
            case "needs-url":
                return self.require_sign_in()
            case "hold":
                await self.released.wait()
                return "held"
            case "release":
                self.released.set()
                return "released"
            case "die":
                os._exit(1)
            case "pid":
                return str(os.getpid())
            case "append" | "append-again":
                # Writing one line takes no time.
                with open(self.file, "a", encoding="utf-8") as opened:  # noqa: ASYNC230, PTH123
                    opened.write("line\n")
                if self.waits:
                    await asyncio.Event().wait()
                return "done"
            case "grow":
                self.tools = {**self.tools, **GROWN}
                self.send(method="notifications/tools/list_changed")
                return "grown"
            case _:
                return json.dumps(arguments)

    def require_sign_in(self) -> str:
        """Refuse the first call: its user has to sign in at a URL."""
        if self.released.is_set():
            return "signed in"
        self.released.set()
        raise LookupError(
            {
                "code": -32042,
                "message": "URL elicitation required",
                "data": {"elicitations": [{**SIGN_IN, "elicitationId": "e-2"}]},
            }
        )

    def handle(self, body: dict[str, Any]) -> None:
        """Handle a message of the client."""
        match body.get("method"):
            case "initialize":
                info = {"name": "by hand", "version": "1"}
                capabilities = {"tools": {"listChanged": True}}
                self.send(
                    id=body["id"],
                    result={
                        "protocolVersion": "2025-11-25",
                        "capabilities": capabilities,
                        "serverInfo": info,
                    },
                )
            case "tools/list":
                tools = [
                    {"name": name, "inputSchema": {"type": "object"}, **members}
                    for name, members in self.tools.items()
                ]
                self.send(id=body["id"], result={"tools": tools})
            case "tools/call":
                self.running[body["id"]] = asyncio.create_task(
                    self.call(body["id"], body["params"])
                )
            case "notifications/cancelled":
                self.running[body["params"]["requestId"]].cancel()
                self.released.set()
            case None:
                if not self.answers[body["id"]].done():  # of a call that was canceled
                    self.answers[body["id"]].set_result(body)
            case method if "id" in body:
                self.send(id=body["id"], error={"code": -32601, "message": f"unknown: {method}"})


async def main() -> None:
    """Serve until the client closes its end."""
    server = Server()
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=10_000_000)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        server.handle(json.loads(line))


if __name__ == "__main__":
    asyncio.run(main())
