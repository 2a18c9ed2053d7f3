"""``Idempotency-Key`` over HTTP: in every dialect over every binding, a repeated request is the
same task, and another one is a conflict.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from integration.dialect_client import (
    DIALECT_BINDINGS,
    DialectBinding,
    DialectClient,
    build_send_request,
)
from integration.outcome_agent import build_test_app, serve_on_socket

from a2a_contract.operations import SEND_MESSAGE
from a2a_contract.v1_0 import SendMessageRequest

CONFLICT = -32602


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    """A client of an agent on a socket, since several ask at once."""
    with serve_on_socket(build_test_app(store="memory")) as client:
        yield client


@pytest.fixture(params=DIALECT_BINDINGS, ids=str)
def talker(request: pytest.FixtureRequest, client: httpx.Client) -> DialectClient:
    """Client of one dialect over one binding."""
    binding: DialectBinding = request.param
    return DialectClient(client, binding)


def send_with_key(talker: DialectClient, request: SendMessageRequest, key: str) -> httpx.Response:
    """Send a message under a key."""
    method, url, options = talker.build_request(SEND_MESSAGE, request, **{"Idempotency-Key": key})
    return talker.http.request(method, url, **options)


def task_of(response: httpx.Response) -> str:
    """Read the id of the task that came back."""
    body = response.json()
    body = body.get("result", body)
    return str(body.get("task", body)["id"])


def test_a_key_stands_for_one_request(talker: DialectClient) -> None:
    """The same request is the same task; another body is refused, with 409 where there is a status,
    and has no effect.
    """
    key = f"once-{talker.dialect_binding}"
    first = send_with_key(talker, build_send_request("one"), key)
    assert task_of(send_with_key(talker, build_send_request("one"), key)) == task_of(first)
    conflict = send_with_key(talker, build_send_request("two"), key)
    error = conflict.json().get("error", conflict.json())
    assert "Idempotency-Key" in error["message"]
    assert conflict.status_code == (200 if talker.dialect_binding.is_jsonrpc else 409)
    assert error["code"] == (
        409 if (conflict.status_code, talker.dialect_binding.dialect) == (409, "v1_0") else CONFLICT
    )
    assert task_of(send_with_key(talker, build_send_request("one"), key)) == task_of(first)


def test_requests_at_once_under_a_key_are_one_task(talker: DialectClient) -> None:
    """The first request creates it; all of them get it."""
    with ThreadPoolExecutor(8) as pool:
        tasks = pool.map(
            lambda _: task_of(
                send_with_key(
                    talker, build_send_request("one"), f"at-once-{talker.dialect_binding}"
                )
            ),
            range(16),
        )
    assert len(set(tasks)) == 1


def test_another_tenant_may_use_the_same_key(client: httpx.Client) -> None:
    """A key is its sender's own: neither is the task of another one shown, nor is there a conflict
    with it.
    """
    body = {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]}}
    paths = ("/message:send", "/acme/message:send", "/other/message:send")
    tasks = {
        client.post(path, json=body, headers={"Idempotency-Key": "shared"}).json()["task"]["id"]
        for path in paths
    }
    assert len(tasks) == len(paths)
