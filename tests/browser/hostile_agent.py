"""An agent that wants to harm the page that shows it: its card, and what it answers."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager

from integration.outcome_agent import serve_on_socket
from litestar.types import Receive, Scope, Send

SCRIPT = "<script>window.harmed = 1</script><img src=x onerror='window.harmed = 2'>"
REVERSED = "safe\u202etxt.exe\u2066\x1b[31mred\x07\u0000"
ADDRESSES = (
    "javascript:window.harmed=3",
    "data:text/html,<script>window.harmed=4</script>",
    "file:///etc/passwd",
    "vbscript:x",
    "http://[",
)
MARKDOWN = (
    f"# {SCRIPT}\n\n[click](javascript:window.harmed=5) ![i](https://evil.example/pixel.png) "
    "<iframe src=javascript:window.harmed=6>\n\n"
) + "> " * 500
PICTURE = (
    "<svg xmlns='http://www.w3.org/2000/svg' onload='window.harmed=7' width='9' "
    "height='9'><script>parent.harmed=8</script></svg>"
)
_DEEP = json.loads('{"a":' * 60 + "1" + "}" * 60)


def build_card(url: str) -> dict[str, object]:
    """Build a card that is well formed and harmful in every text."""
    skills = [
        {
            "id": f"{SCRIPT}-{number}",
            "name": f"{REVERSED}{SCRIPT}",
            "description": MARKDOWN,
            "tags": [SCRIPT] * 30,
            "examples": [SCRIPT * 5],
        }
        for number in range(60)
    ]
    return {
        "name": f"{SCRIPT}{REVERSED}",
        "description": f"{MARKDOWN}{'x' * 60_000}",
        "version": SCRIPT,
        "supportedInterfaces": [
            {"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        ]
        + [
            {"url": address, "protocolBinding": SCRIPT, "protocolVersion": REVERSED}
            for address in ADDRESSES
        ],
        "provider": {"organization": SCRIPT, "url": ADDRESSES[0]},
        "documentationUrl": ADDRESSES[1],
        "iconUrl": "https://evil.example/icon.png",
        "capabilities": {
            "streaming": False,
            "extensions": [
                {
                    "uri": ADDRESSES[0],
                    "description": SCRIPT,
                    "params": {"__proto__": {"harmed": 1}, "deep": _DEEP},
                }
            ],
        },
        "securitySchemes": {
            SCRIPT: {
                "apiKeySecurityScheme": {
                    "location": "header",
                    "name": "X-Key",
                    "description": SCRIPT,
                }
            }
        },
        "defaultInputModes": [SCRIPT],
        "defaultOutputModes": [REVERSED],
        "skills": skills,
    }


def build_result() -> dict[str, object]:
    """Build a task whose texts and files are harmful."""
    parts = [
        {"text": f"{SCRIPT}{REVERSED}"},
        {"text": MARKDOWN, "mediaType": "text/markdown"},
        {"data": {"__proto__": {"harmed": 1}, SCRIPT: [SCRIPT, REVERSED], "deep": _DEEP}},
        {
            "raw": "PHNjcmlwdD4=",
            "filename": "../../etc/passwd\u202egnp.html",
            "mediaType": "text/html",
        },
        {"raw": "PHNjcmlwdD4=", "filename": SCRIPT, "mediaType": "image/png"},
        {
            "raw": b64encode(PICTURE.encode()).decode(),
            "filename": "a.svg",
            "mediaType": "image/svg+xml",
        },
        *({"url": address, "filename": SCRIPT} for address in ADDRESSES),
    ]
    status = {
        "state": "TASK_STATE_COMPLETED",
        "message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": SCRIPT}]},
    }
    artifact = {
        "artifactId": SCRIPT,
        "name": f"{REVERSED}{SCRIPT}",
        "description": SCRIPT,
        "parts": parts,
    }
    return {
        "task": {
            "id": "t-1",
            "contextId": SCRIPT,
            "status": status,
            "artifacts": [artifact],
            "metadata": {SCRIPT: SCRIPT},
        }
    }


@contextmanager
def serve_hostile_agent() -> Iterator[str]:
    """Serve the agent, and give its URL."""
    place: list[str] = []

    async def respond(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            while (message := await receive())["type"] != "lifespan.shutdown":
                if message["type"] == "lifespan.startup":
                    await send({"type": "lifespan.startup.complete"})
            return await send({"type": "lifespan.shutdown.complete"})
        reply = build_card(place[0]) if scope["method"] == "GET" else await _call(receive)
        await send(
            {
                "type": "http.response.start",
                "status": 200,
                "headers": [(b"content-type", b"application/json"), (b"x-evil", SCRIPT.encode())],
            }
        )
        return await send(
            {"type": "http.response.body", "body": json.dumps(reply).encode(), "more_body": False}
        )

    with serve_on_socket(respond, 1) as client:
        place.append(str(client.base_url).rstrip("/"))
        yield place[0]


async def _call(receive: Receive) -> dict[str, object]:
    body = b""
    while (message := await receive())["type"] == "http.request":
        body += message["body"]
        if not message.get("more_body"):
            break
    return {"jsonrpc": "2.0", "id": json.loads(body)["id"], "result": build_result()}
