"""The explorer of a command: one agent at a URL, on loopback, for the holder of the token.

/, /explorer          lead to the page
/explorer/            the page, without secrets: the token is in the fragment of the address, which
                      no server and no log sees
/explorer/api/…       needs the token
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from a2a_contract.errors import A2AError, MethodNotFoundError
from a2a_runtime.features.explorer.api import ExplorerApi
from a2a_runtime.features.explorer.directory import ExploredAgent
from a2a_runtime.features.explorer.errors import explain_error
from a2a_runtime.features.explorer.guard import check_host, check_token
from a2a_runtime.features.explorer.page import send_page
from a2a_runtime.features.explorer.wire import Masker
from a2a_runtime.http.asgi import HttpRequest, send_empty_response, send_response
from a2a_runtime.service.context import ProtocolBinding

EXPLORER_PATH = "/explorer"
LOOPBACK = "127.0.0.1"
_API = f"{EXPLORER_PATH}/api/"


class StandaloneDirectory:
    """The agents that a command was told of."""

    mode = "command"

    def __init__(self, agents: Sequence[ExploredAgent], token: str) -> None:
        self._agents = agents
        self._token = token
        self.hosts: frozenset[str] = frozenset()
        """The names of this process in the header ``Host``."""

    def check_host(self, request: HttpRequest) -> None:
        """Refuse a request to another name than those of this machine, and one of another page."""
        check_host(request, self.hosts)

    def check(self, request: HttpRequest) -> None:
        """Refuse a request without the token."""
        check_token(request, self._token)

    async def list_agents(self, request: HttpRequest) -> Sequence[ExploredAgent]:
        """List the agents."""
        del request
        return self._agents

    async def find_agent(self, request: HttpRequest, agent_id: str) -> ExploredAgent | None:
        """Find an agent by its id."""
        del request
        return next((each for each in self._agents if each.id == agent_id), None)


class StandaloneExplorer:
    """The ASGI app of the command."""

    def __init__(self, agents: Sequence[ExploredAgent], token: str) -> None:
        self._directory = StandaloneDirectory(agents, token)
        self._api = ExplorerApi(self._directory)

    def allow_port(self, port: int) -> None:
        """Accept requests to a port of this machine, under its usual names."""
        self._directory.hosts |= {f"{LOOPBACK}:{port}", f"localhost:{port}"}

    # typed as Any: scopes of all kinds of ASGI
    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401
        """Respond to a request; there is nothing to start and to stop."""
        if scope["type"] != "http":
            await _refuse_other(scope, receive, send)
            return
        request = HttpRequest(scope, receive, send, ProtocolBinding.HTTP)
        try:
            self._directory.check_host(request)
            await self._route(request, scope["path"])
        except A2AError as error:
            status, explained = explain_error(error, Masker())
            await send_response(
                request,
                str(explained["message"]).encode(),
                b"text/plain; charset=utf-8",
                status=status,
            )

    async def _route(self, request: HttpRequest, path: str) -> None:
        if path.startswith(_API):
            await self._api.handle(request, path.removeprefix(_API))
        elif path in (EXPLORER_PATH, f"{EXPLORER_PATH}/"):
            await send_page(request)
        elif path == "/":
            await send_empty_response(request, 307, [(b"location", f"{EXPLORER_PATH}/".encode())])
        else:
            raise MethodNotFoundError(f"{path}: nothing here; the explorer is at {EXPLORER_PATH}/")


# typed as Any: scopes of the other kinds of ASGI
async def _refuse_other(scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008, "reason": ""})
        return
    while (message := await receive())["type"] != "lifespan.shutdown":
        if message["type"] == "lifespan.startup":
            await send({"type": "lifespan.startup.complete"})
    await send({"type": "lifespan.shutdown.complete"})
