"""Limits of what one caller may keep open, over a socket."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace

import httpx
import pytest
from integration.outcome_agent import build_test_agent, serve_on_socket

from a2a_runtime.app import create_app
from a2a_runtime.auth.authentication import Identity
from a2a_runtime.auth.authenticators import ApiKeyAuthenticator, digest_key
from a2a_runtime.auth.gate import AuthGate
from a2a_runtime.surface import Limits, Surface
from a2a_runtime.testing.agent import FAST_SETTINGS, build_user_message

ADA, EVE = ({"X-API-Key": key, "A2A-Version": "1.0"} for key in ("a", "e"))
GATE = AuthGate(
    ApiKeyAuthenticator({digest_key("a"): Identity("ada"), digest_key("e"): Identity("eve")})
)
WAIT = {
    "message": build_user_message("x", metadata={"skillId": "wait"}).to_dict(),
    "configuration": {"returnImmediately": True},
}


@pytest.mark.parametrize(("limit", "setting"), [(2, 0), (2, 9), (9, 2), (None, 2)])
def test_open_tasks_of_a_caller_are_limited(limit: int | None, setting: int) -> None:
    """The next one is refused until one has ended; another caller is not concerned.

    The lower one of limit and setting applies.
    """
    surface = Surface(build_test_agent(), gate=GATE, limits=Limits(open_tasks=limit))
    settings = replace(FAST_SETTINGS, max_caller_open_tasks=setting)
    with serve_on_socket(create_app(surface, store="memory", settings=settings)) as client:
        tasks = [
            client.post("/message:send", json=WAIT, headers=ADA).json()["task"]["id"]
            for _ in range(2)
        ]
        refused = client.post("/message:send", json=WAIT, headers=ADA)
        assert (refused.status_code, "2 open tasks" in refused.text) == (
            httpx.codes.TOO_MANY_REQUESTS,
            True,
        )
        assert client.post("/message:send", json=WAIT, headers=EVE).status_code == httpx.codes.OK
        assert client.post(f"/tasks/{tasks[0]}:cancel", headers=ADA).status_code == httpx.codes.OK
        assert client.post("/message:send", json=WAIT, headers=ADA).status_code == httpx.codes.OK


@pytest.mark.parametrize(("limit", "setting"), [(2, 0), (9, 2)])
def test_open_streams_of_a_caller_are_limited(limit: int, setting: int) -> None:
    """The next one is refused until one is closed; another caller is not concerned.

    The lower one of limit and setting applies.
    """
    surface = Surface(build_test_agent(), gate=GATE, limits=Limits(streams=limit))
    settings = replace(FAST_SETTINGS, max_caller_streams=setting)
    with (
        serve_on_socket(create_app(surface, store="memory", settings=settings)) as client,
        ExitStack() as streams,
    ):

        def open_stream(headers: dict[str, str]) -> int:
            response = streams.enter_context(
                client.stream("POST", "/message:stream", json=WAIT, headers=headers)
            )
            if response.is_success:
                chunks = response.iter_bytes()  # an iterator that goes away closes the connection
                streams.push(lambda *_: chunks.close())
                next(chunks)
            return response.status_code

        assert [open_stream(ADA) for _ in range(3)] == [200, 200, 429]
        assert open_stream(EVE) == httpx.codes.OK
        streams.close()
        for _ in range(200):  # until the server has seen that the connections are closed
            if (status := open_stream(ADA)) == httpx.codes.OK:
                break
        assert status == httpx.codes.OK
