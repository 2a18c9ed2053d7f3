"""Share of one caller in a memory store, over a socket: no caller fills it for the others, nor
pushes their results out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import httpx
import pytest
from integration.outcome_agent import build_test_agent, serve_on_socket

from a2a_contract.errors import ERRORS, RateLimitedError
from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.auth.authentication import Identity
from a2a_runtime.auth.authenticators import ApiKeyAuthenticator, digest_key
from a2a_runtime.auth.gate import AuthGate
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import FAST_SETTINGS, build_user_message

ADA, EVE = ({"X-API-Key": key, "A2A-Version": "1.0"} for key in ("a", "e"))
GATE = AuthGate(
    ApiKeyAuthenticator({digest_key("a"): Identity("ada"), digest_key("e"): Identity("eve")})
)
ANONYMOUS = {"A2A-Version": "1.0"}
RETURN_AT_ONCE = {"configuration": {"returnImmediately": True}}
SETTINGS = replace(FAST_SETTINGS, memory_max_bytes=2_000_000)
LARGE = "x" * 100_000


def build_agent() -> Agent:
    """Build an agent that answers, waits, or asks again and again."""
    agent = build_test_agent()

    @agent.skill("ask-on")
    async def ask_on(ctx: TaskContext) -> None:
        while True:
            await ctx.ask("And?")

    return agent


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    """Serve an agent that answers or waits, from a store of 2 MB."""
    surface = Surface(build_agent(), gate=GATE)
    with serve_on_socket(create_app(surface, store="memory", settings=SETTINGS)) as client:
        yield client


def send(
    client: httpx.Client, headers: Mapping[str, str], skill: str, text: str = LARGE, **members: str
) -> httpx.Response:
    """Send a message for a skill, or for a task of it."""
    message = build_user_message(text, metadata={"skillId": skill}, **members).to_dict()
    return client.post(
        "/message:send",
        json={"message": message} | (RETURN_AT_ONCE if skill == "wait" else {}),
        headers=headers,
    )


def fill(
    client: httpx.Client, headers: Mapping[str, str], skill: str
) -> tuple[list[str], httpx.Response]:
    """Send messages until one is refused; return the ids of the tasks, and the refusal."""
    tasks: list[str] = []
    while (answer := send(client, headers, skill)).is_success:
        tasks.append(answer.json()["task"]["id"])
        assert len(tasks) < 30
    return tasks, answer


def cancel(client: httpx.Client, headers: Mapping[str, str], tasks: Iterable[str]) -> None:
    """End tasks."""
    for task_id in tasks:
        assert client.post(f"/tasks/{task_id}:cancel", headers=headers).is_success


def test_one_caller_does_not_fill_the_store(client: httpx.Client) -> None:
    """Their unfinished tasks hold a quarter; then they get 429, also by JSON-RPC, until one has
    ended. No other caller notices.
    """
    tasks, refusal = fill(client, EVE, "wait")
    assert (refusal.status_code, "wait until one ends" in refusal.text) == (
        httpx.codes.TOO_MANY_REQUESTS,
        True,
    )
    assert len(tasks) in {3, 4, 5}  # an event of each has the message too
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "SendMessage",
        "params": {"message": build_user_message("x").to_dict()},
    }
    answer = client.post("/", json=call, headers=EVE).json()
    assert answer["error"]["code"] == ERRORS[RateLimitedError].code
    others, _ = fill(client, ADA, "wait")
    assert len(others) == len(tasks)
    cancel(client, EVE, tasks)
    more = send(client, EVE, "wait").json()["task"]["id"]
    cancel(client, EVE, [more])
    cancel(client, ADA, others)


def test_messages_for_one_task_do_not_fill_the_store(client: httpx.Client) -> None:
    """Also answers are kept, with the task that waits for them.

    They may take half as much again, so that a task can end.
    """
    tasks, _ = fill(client, EVE, "ask-on")
    answers = 0
    while (answer := send(client, EVE, "ask-on", taskId=tasks[0])).is_success:
        answers += 1
        assert answers < 30
    assert (answer.status_code, answers >= 1) == (httpx.codes.TOO_MANY_REQUESTS, True)
    cancel(client, EVE, tasks)


def test_whoever_fills_the_store_loses_their_own_results(client: httpx.Client) -> None:
    """Finished tasks may take all of it: those of the caller who holds most are deleted first,
    though others ended before.
    """
    kept = [send(client, ADA, "echo", "x" * 10_000).json()["task"]["id"] for _ in range(3)]
    for _ in range(40):
        assert send(client, EVE, "echo").is_success
    assert [client.get(f"/tasks/{each}", headers=ADA).status_code for each in kept] == [
        httpx.codes.OK
    ] * 3
    assert client.get("/tasks?pageSize=100", headers=EVE).json()["totalSize"] < 15


@pytest.mark.parametrize("skill", ["wait", "ask-on"])
def test_metadata_of_a_request_count_too(client: httpx.Client, skill: str) -> None:
    """A later run of the handler gets them again, so they are kept as long as the task is
    unfinished.
    """
    body = {
        "message": build_user_message("x", metadata={"skillId": skill}).to_dict(),
        "metadata": {"m": LARGE},
    }
    answers = []
    while (
        answer := client.post("/message:send", json=body | RETURN_AT_ONCE, headers=EVE)
    ).is_success:
        answers.append(answer.json()["task"]["id"])
        assert len(answers) < 30
    assert answer.status_code == httpx.codes.TOO_MANY_REQUESTS
    cancel(client, EVE, answers)


def test_anonymous_callers_count_by_their_address() -> None:
    """They own their tasks together, but one address does not fill the store for another one."""
    app = create_app(build_agent(), store="memory", settings=SETTINGS)
    with serve_on_socket(app) as client:
        port = client.base_url.port
        fill(client, ANONYMOUS, "wait")
        for address, status in (
            ("127.0.0.1", httpx.codes.TOO_MANY_REQUESTS),
            ("127.0.0.2", httpx.codes.OK),
        ):
            transport = httpx.HTTPTransport(local_address=address)
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", transport=transport) as other:
                assert send(other, ANONYMOUS, "wait").status_code == status
