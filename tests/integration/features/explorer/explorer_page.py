"""The explorer as its page sees it: the API on a real socket."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import httpx
from integration.outcome_agent import serve_on_socket

from a2a_runtime.client.client import complete_options
from a2a_runtime.client.options import ClientOptions
from a2a_runtime.features.explorer.directory import ExploredAgent
from a2a_runtime.features.explorer.standalone import StandaloneExplorer

TOKEN = "of-the-process"  # noqa: S105 - of the test


class PageEvent(NamedTuple):
    """An event of a stream."""

    kind: str
    data: Any
    cursor: str | None


def encode_credentials(
    headers: Mapping[str, str] | None = None, query: Mapping[str, str] | None = None
) -> str:
    """Encode what a visitor has entered."""
    return (
        urlsafe_b64encode(
            json.dumps({"headers": dict(headers or {}), "query": dict(query or {})}).encode()
        )
        .decode()
        .rstrip("=")
    )


class ExplorerPage:
    """A client that sends what the page sends."""

    def __init__(
        self, http: httpx.Client, agent: str = "0", headers: Mapping[str, str] | None = None
    ) -> None:
        self.http = http
        self.agent = agent
        self.headers = {"x-a2a-explorer": TOKEN, **(headers or {})}

    def with_credentials(
        self, headers: Mapping[str, str] | None = None, query: Mapping[str, str] | None = None
    ) -> ExplorerPage:
        """Sign in."""
        return ExplorerPage(
            self.http,
            self.agent,
            {**self.headers, "x-a2a-credentials": encode_credentials(headers, query)},
        )

    def get(self, path: str) -> httpx.Response:
        """Read something."""
        return self.http.get(f"/explorer/api/{path}", headers=self.headers)

    def post(self, path: str, document: object) -> httpx.Response:
        """Ask for something of the agent."""
        return self.http.post(
            f"/explorer/api/agents/{self.agent}/{path}", headers=self.headers, json=document
        )

    def describe(self) -> Any:  # noqa: ANN401 - JSON
        """Read the card."""
        response = self.get(f"agents/{self.agent}")
        assert response.status_code == 200, response.text
        return response.json()

    def run(
        self,
        operation: str,
        request: object,
        interface: str | None = None,
    ) -> Any:  # noqa: ANN401 - JSON
        """Run an operation, and return what the page gets."""
        return self.post(
            f"operations/{operation}", {"request": request, "interface": interface}
        ).json()

    def send(
        self,
        text: str,
        interface: str | None = None,
        **message: object,
    ) -> Any:  # noqa: ANN401 - JSON
        """Send a text."""
        return self.run(
            "SendMessage", {"message": {"parts": [{"text": text}], **message}}, interface
        )

    def snippets(
        self, operation: str, request: object, interface: str | None = None
    ) -> dict[str, str]:
        """Read the snippets of a request, by their ids."""
        response = self.post(
            "snippets", {"operation": operation, "request": request, "interface": interface}
        )
        assert response.status_code == 200, response.text
        return {each["id"]: each["text"] for each in response.json()["snippets"]}

    def stream(self, operation: str, document: object) -> list[PageEvent]:
        """Read a whole stream."""
        url = f"/explorer/api/agents/{self.agent}/streams/{operation}"
        with self.http.stream("POST", url, headers=self.headers, json=document) as response:
            return list(parse_events(response.iter_lines()))


def parse_events(lines: Iterator[str]) -> Iterator[PageEvent]:
    """Parse server-sent events."""
    fields: dict[str, str] = {}
    for line in lines:
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        elif fields:
            if "data" in fields:
                yield PageEvent(
                    fields.get("event", "message"), json.loads(fields["data"]), fields.get("id")
                )
            fields = {}


@contextmanager
def explore(
    url: str,
    options: ClientOptions | None = None,
    auth: Any = None,  # noqa: ANN401 - of the client
) -> Iterator[ExplorerPage]:
    """Serve the explorer of an agent, as the command does."""
    agent = ExploredAgent(
        "0",
        url,
        url,
        complete_options(url, None, options or ClientOptions()),
        auth,
        secrets=(auth,) if isinstance(auth, str) else (),
    )
    explorer = StandaloneExplorer([agent], TOKEN)
    with serve_on_socket(explorer) as http:
        explorer.allow_port(http.base_url.port or 0)
        yield ExplorerPage(http)


def find_text(result: Mapping[str, Any]) -> str:
    """Find the text of a task or of a message."""
    parts = (
        result["task"]["artifacts"][0]["parts"] if "task" in result else result["message"]["parts"]
    )
    return "".join(part["text"] for part in parts)
