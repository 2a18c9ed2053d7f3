"""Ids and schemas of agents that no request can carry, and tokens with an impossible time: errors
of the client, no tracebacks.
"""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from a2a_contract.errors import InvalidParamsError
from a2a_contract.v1_0 import Message, Part, Role, Task, TaskState, TaskStatus
from a2a_runtime.client import A2AClient, ClientCredentials
from a2a_runtime.client.card_resolver import is_http_url
from a2a_runtime.client.errors import TokenError
from a2a_runtime.client.grpc import is_grpc_url
from a2a_runtime.client.typed.errors import OutputError
from a2a_runtime.client.typed.results import PendingQuestion, build_answer

HOSTILE_ID = "a\x1b[31m"


@pytest.mark.anyio
async def test_a_task_whose_id_no_request_can_name() -> None:
    """Each call of the client says so, with the id escaped."""
    async with A2AClient("http://127.0.0.1:1") as client:
        for call in (client.get, client.cancel):
            with pytest.raises(
                InvalidParamsError,
                match=r"control characters, so no request can name it; report it",
            ) as raised:
                await call(HOSTILE_ID)
            assert "\x1b" not in str(raised.value.message)


@pytest.mark.parametrize(
    "schema",
    [{"$ref": "http://127.0.0.1:1/x.json"}, {"type": "nope"}, {"pattern": "("}, {"$ref": "#/%zz"}],
    ids=str,
)
def test_a_question_whose_schema_cannot_be_used(schema: dict[str, Any]) -> None:
    """Nothing is fetched, and the error is one line with the cure."""
    message = Message(message_id="m", role=Role.AGENT, parts=[Part(text="?")])
    task = Task(
        id="t", context_id="c", status=TaskStatus(state=TaskState.INPUT_REQUIRED, message=message)
    )
    with pytest.raises(
        OutputError,
        match=(
            r"^question: its schema cannot be used \(.+\); report it to the operator of the agent$"
        ),
    ):
        build_answer(PendingQuestion("?", None, schema, task), "yes")


@pytest.mark.parametrize(
    "seconds", ["9" * 400, "1e400", "-1e300"], ids=["400 digits", "infinite", "negative"]
)
@pytest.mark.anyio
async def test_a_token_whose_time_is_none(seconds: str) -> None:
    """The error names the server, as for any other answer without a usable token."""
    auth = ClientCredentials("https://id.example/token", "me", "secret")

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(
            200, content=f'{{"access_token": "t", "expires_in": {seconds}}}', request=request
        )

    async with httpx.AsyncClient(transport=httpx.MockTransport(answer), auth=auth) as http:
        with pytest.raises(TokenError, match=r"id\.example: expires_in of its token is no time"):
            await http.get("https://agent.example")


@pytest.mark.parametrize("url", ["http://[::1", "https://[", "grpc://[::1", "http://x:99999"])
def test_malformed_urls_are_none(url: str) -> None:
    """The commands then say what a URL looks like."""
    assert not is_grpc_url(url)
    assert not is_http_url(url)
