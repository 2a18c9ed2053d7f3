"""Streams whose credentials expire."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import httpx
import pytest
from conformance.security.guarded_apps import ISSUER, AuthenticatedClient, build_guarded_agent
from integration.dialect_client import (
    DIALECT_BINDINGS,
    CallError,
    DialectBinding,
    build_send_request,
)
from integration.outcome_agent import serve_on_socket

from a2a_contract.operations import SEND_STREAMING_MESSAGE
from a2a_contract.v1_0 import TaskArtifactUpdateEvent
from a2a_runtime.app import create_app
from a2a_runtime.auth.gate import AuthGate
from a2a_runtime.client import A2AClient
from a2a_runtime.features.keys.jwt_tokens import JwtAuthenticator
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import FAST_SETTINGS, build_user_message


def token() -> str:
    """Create a token for two to three seconds: long enough for the first event on a slow
    machine.
    """
    return ISSUER.issue_token("ada", exp=int(time.time()) + 3)


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    """A client of a guarded agent."""
    gate = AuthGate(JwtAuthenticator(ISSUER.keys(), ISSUER.validation()))
    with serve_on_socket(
        create_app(
            Surface(build_guarded_agent(), gate=gate), store="memory", settings=FAST_SETTINGS
        ),
        grace_seconds=0.1,
    ) as client:
        yield client


def read_until_expiry(
    client: httpx.Client, binding: DialectBinding
) -> tuple[list[tuple[str | None, str]], str]:
    """Follow a task until the stream ends with an error; return cursors and task ids, and the
    error.
    """
    seen: list[tuple[str | None, str]] = []
    events = AuthenticatedClient(client, binding, token=token()).events(
        SEND_STREAMING_MESSAGE, build_send_request("x", skill="wait")
    )
    try:
        seen.extend((cursor, str(event.task and event.task.id)) for cursor, event in events)
    except CallError as error:
        return seen, str(error)
    return seen, ""


@pytest.fixture(scope="module")
def expired_streams(client: httpx.Client) -> Mapping[str, tuple[list[tuple[str | None, str]], str]]:
    """The streams of all bindings, open at the same time: each takes as long as its token."""
    with ThreadPoolExecutor(len(DIALECT_BINDINGS)) as pool:
        return dict(
            zip(
                map(str, DIALECT_BINDINGS),
                pool.map(partial(read_until_expiry, client), DIALECT_BINDINGS),
                strict=True,
            )
        )


@pytest.mark.parametrize("binding", DIALECT_BINDINGS, ids=str)
def test_a_stream_ends_when_its_token_expires(
    client: httpx.Client,
    expired_streams: Mapping[str, tuple[list[tuple[str | None, str]], str]],
    binding: DialectBinding,
) -> None:
    """The last event is an error; a new token resumes the stream after its last event."""
    seen, error = expired_streams[str(binding)]
    assert "expired" in error
    (_, task_id) = seen[0]
    (cursor, _) = seen[-1]
    again = AuthenticatedClient(client, DIALECT_BINDINGS[0], token=ISSUER.issue_token("ada"))
    rest = again.subscribe(task_id, last_event_id=cursor or "")
    again.cancel(task_id)
    assert "CANCELED" in str(list(rest)[-1])


class RenewingAuth(httpx.Auth):
    """Sends a new token with every request."""

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Add a token."""
        request.headers["authorization"] = f"Bearer {token()}"
        yield request


@pytest.mark.anyio
async def test_a_client_with_renewed_tokens_misses_no_event(client: httpx.Client) -> None:
    """It follows a task for longer than any of its tokens is valid."""
    async with A2AClient(str(client.base_url), auth=RenewingAuth()) as other:
        message = build_user_message("66", metadata={"skillId": "tick"})
        events = [event async for event in other.stream(message)]
    texts = [
        part.text
        for event in events
        if isinstance(event, TaskArtifactUpdateEvent)
        for part in event.artifact.parts
    ]
    assert texts == [str(number) for number in range(66)]
