"""A server of documents, for cards that no agent of ours would have."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from threads import serve_in_thread

from a2a_runtime.features.keys.card_signatures import CardSigner
from a2a_runtime.features.keys.signing import SigningKey

CARD_PATH = "/.well-known/agent-card.json"
KEYS_PATH = "/keys.json"


@contextmanager
def serve_documents(
    documents: dict[str, object],
) -> Iterator[tuple[str, list[tuple[str, dict[str, str]]]]]:
    """Serve JSON by path; yield the URL, and the requests with their headers."""
    seen: list[tuple[str, dict[str, str]]] = []

    class Handler(BaseHTTPRequestHandler):
        """Responds with a document."""

        def do_GET(self) -> None:
            """Respond."""
            seen.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
            document = documents.get(self.path)
            body = document if isinstance(document, bytes) else json.dumps(document).encode()
            self.send_response(404 if document is None else 200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            """Take a request."""
            self.rfile.read(int(self.headers.get("content-length", 0)))
            self.do_GET()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as above
            """Be silent."""

    with serve_in_thread(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as server:
        yield f"http://127.0.0.1:{server.server_port}", seen


def build_card(url: str, **members: object) -> dict[str, object]:
    """Build a card of 1.0."""
    interface = {"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    card = {
        "name": "evil",
        "description": "Evil.",
        "version": "1",
        "capabilities": {},
        "defaultInputModes": [],
        "defaultOutputModes": [],
    }
    return {**card, "supportedInterfaces": [interface], "skills": [], **members}


def build_full_card(url: str) -> dict[str, object]:
    """Build a card without empty members: each key makes one signature of it."""
    modes = ["text/plain"]
    skill = {"id": "s", "name": "s", "description": "d", "tags": ["t"]}
    return build_card(
        url,
        capabilities={"streaming": True},
        defaultInputModes=modes,
        defaultOutputModes=modes,
        skills=[skill],
    )


def sign_card(
    card: dict[str, object], keys_url: str | None, *keys: SigningKey
) -> dict[str, object]:
    """Sign a card with keys that are published at a URL, or nowhere."""
    signer = CardSigner([replace(key, jku=keys_url) for key in keys])
    return {**card, "signatures": [each.to_dict() for each in signer.sign(card)]}
