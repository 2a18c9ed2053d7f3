"""A guarded agent over HTTP: tokens of a real issuer, rejections, and visible skills."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Iterator
from typing import Self

import httpx
import pytest
from conformance.security.guarded_apps import AuthenticatedClient
from integration.dialect_client import (
    DIALECT_BINDINGS,
    CallError,
    DialectBinding,
    DialectClient,
    build_send_request,
)
from integration.outcome_agent import build_test_agent, serve_on_socket
from litestar.testing import TestClient
from unit.features.keys.test_tokens import REFUSED as WRONG_TOKENS
from unit.features.keys.test_tokens import TRUSTED

from a2a_contract.dialects import V0_3, V1_0
from a2a_contract.operations import GET_EXTENDED_AGENT_CARD, SEND_MESSAGE
from a2a_contract.v1_0 import (
    GetExtendedAgentCardRequest,
    SecurityRequirement,
    StringList,
    TaskState,
)
from a2a_runtime.agent import Agent, Capabilities
from a2a_runtime.app import create_app
from a2a_runtime.auth.authentication import Identity
from a2a_runtime.auth.authenticators import ApiKeyAuthenticator, digest_key
from a2a_runtime.auth.gate import AuthGate
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.features.keys.jwks import JwksKeys, KeyCachePolicy
from a2a_runtime.features.keys.jwt_tokens import JwtAuthenticator
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import FAST_SETTINGS
from a2a_runtime.testing.token_issuer import TokenIssuer
from a2a_runtime.testing.webhook_receiver import WebhookReceiver, WebhookRequest, WebhookResponse

ISSUER = TokenIssuer()
ABLE = Capabilities(extended_agent_card=True)


async def who(ctx: TaskContext) -> str:
    """Return the caller."""
    return f"{ctx.caller.subject} {sorted(ctx.caller.scopes)} {ctx.caller.claims.get('email')}"


def needs(*scopes: str) -> tuple[SecurityRequirement, ...]:
    """Require scopes of a token."""
    return (SecurityRequirement(schemes={"bearer": StringList(list_=list(scopes))}),)


def build_guarded_surface() -> Surface:
    """Build an agent with a public skill, one that needs a scope, and a hidden one."""
    agent = Agent("guarded", capabilities=ABLE)
    agent.add("who", who, default=True)
    agent.add("pay", who, require=[{"bearer": ["pay"]}])
    agent.add("audit", who, require=[{"bearer": ["audit"]}], only_extended=True)
    tokens = JwtAuthenticator(ISSUER.keys(), ISSUER.validation())
    return Surface(
        agent,
        gate=AuthGate(
            tokens,
            ApiKeyAuthenticator({digest_key("k"): Identity("box")}),
            require=[{"bearer": ["tasks"]}, {"apiKey": []}],
        ),
    )


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    """A client of the guarded agent."""
    with TestClient(
        create_app(build_guarded_surface(), store="memory", settings=FAST_SETTINGS)
    ) as client:
        yield client


@pytest.fixture(params=DIALECT_BINDINGS, ids=str)
def binding(request: pytest.FixtureRequest) -> DialectBinding:
    """A dialect over a binding."""
    binding: DialectBinding = request.param
    return binding


def person(
    client: httpx.Client, binding: DialectBinding, scope: str = "tasks"
) -> AuthenticatedClient:
    """Build a caller with some scopes."""
    return AuthenticatedClient(
        client, binding, token=ISSUER.issue_token("ada", scope=scope, email="ada@example.org")
    )


def test_a_handler_gets_the_caller(client: httpx.Client, binding: DialectBinding) -> None:
    """Subject, scopes and claims, in every dialect."""
    task = person(client, binding).task("x", skill="who")
    assert [part.text for each in task.artifacts or () for part in each.parts] == [
        "bearer:ada ['tasks'] ada@example.org"
    ]


def test_rejected_requests_get_a_challenge(client: httpx.Client, binding: DialectBinding) -> None:
    """With a status and an error of the dialect; never the rejected credentials."""
    wrong = ISSUER.issue_token(exp=1)
    for token, said in (("", "Authentication required"), (wrong, "The token has expired")):
        answer = AuthenticatedClient(client, binding, token=token).call_raw(
            SEND_MESSAGE, build_send_request("x")
        )
        assert answer.status_code == 401
        assert said in answer.text
        assert answer.headers["www-authenticate"].startswith("Bearer")
        assert not token or token not in answer.text + str(answer.headers)


def test_a_missing_scope_is_reported(client: httpx.Client, binding: DialectBinding) -> None:
    """The challenge names the missing scope, of the surface or of the skill."""
    for scope, skill, missing in (("", "who", "tasks"), ("tasks", "pay", "pay")):
        answer = person(client, binding, scope).call_raw(
            SEND_MESSAGE, build_send_request("x", skill=skill)
        )
        assert (answer.status_code, missing in answer.text) == (403, True)
        assert f'scope="{missing}"' in answer.headers["www-authenticate"]
    assert (
        person(client, binding, "tasks pay").task("x", skill="pay").status.state
        == TaskState.COMPLETED
    )


def test_a_hidden_skill_does_not_exist_for_others(
    client: httpx.Client, binding: DialectBinding
) -> None:
    """It answers like an unknown name, and is on no card."""
    outsider = person(client, binding)
    auditor = person(client, binding, "tasks audit")
    refused = [
        outsider.call_raw(SEND_MESSAGE, build_send_request("x", skill=name, message_id="m"))
        for name in ("audit", "nope!")
    ]
    assert refused[0].text.replace("audit", "…") == refused[1].text.replace("nope!", "…")
    assert auditor.task("x", skill="audit").status.state == TaskState.COMPLETED
    cards = [
        each.call_raw(GET_EXTENDED_AGENT_CARD, GetExtendedAgentCardRequest()).text
        for each in (outsider, auditor)
    ]
    assert [[name in card for name in ("who", "pay", "audit")] for card in cards] == [
        [True, True, False],
        [True, True, True],
    ]


def test_a_follow_up_needs_the_scopes_of_its_skill(client: httpx.Client) -> None:
    """A caller that lost a scope cannot continue."""
    agent = build_test_agent()
    guarded = Agent("asking")
    guarded.add("ask", agent.skills["ask"].skill.handler, require=[{"bearer": ["pay"]}])
    gate = AuthGate(JwtAuthenticator(ISSUER.keys(), ISSUER.validation()))
    with TestClient(
        create_app(Surface(guarded, gate=gate), store="memory", settings=FAST_SETTINGS)
    ) as other:
        binding = DialectBinding(V1_0.name, is_jsonrpc=True)
        task = person(other, binding, "pay").task("x")
        with pytest.raises(CallError) as refused:
            person(other, binding, "").send("y", task_id=task.id)
        assert refused.value.status == 403
        assert (
            person(other, binding, "pay").task("y", task_id=task.id).status.state
            == TaskState.COMPLETED
        )
    assert client is not other


def test_card_gate_and_errors_agree(client: httpx.Client) -> None:
    """The requirements of the card open the gate."""
    card = client.get("/.well-known/agent-card.json", headers={"a2a-version": "1.0"}).json()
    assert set(card["securitySchemes"]) == {"bearer", "apiKey"}
    assert card["securityRequirements"] == [
        {"schemes": {"bearer": {"list": ["tasks"]}}},
        {"schemes": {"apiKey": {}}},
    ]
    key = card["securitySchemes"]["apiKey"]["apiKeySecurityScheme"]
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "SendMessage",
        "params": build_send_request("x").to_dict(),
    }
    assert (
        client.post("/", json=body, headers={key["name"]: "k"})
        .json()["result"]["task"]["artifacts"][0]["parts"][0]["text"]
        .startswith("apiKey:box")
    )
    older = client.get("/.well-known/agent-card.json", headers={"a2a-version": "0.3"}).json()
    assert older["security"] == [{"bearer": ["tasks"]}, {"apiKey": []}]
    assert [each["id"] for each in card["skills"]] == ["who", "pay"]
    document = client.get("/schema/openapi.json").json()
    assert document["components"]["securitySchemes"] == older["securitySchemes"]
    assert (
        document["paths"]["/"]["post"]["security"]
        == document["paths"]["/message:send"]["post"]["security"]
        == older["security"]
    )
    assert document["paths"]["/.well-known/agent-card.json"]["get"]["security"] == []


PROMISES: dict[str, tuple[dict[str, object], str]] = {
    "no gate": ({"security_requirements": needs()}, "no gate enforces them; set Surface"),
    "said twice": (
        {"security_requirements": needs(), "gate": AuthGate(ApiKeyAuthenticator({}))},
        "both the gate and the agent declare security requirements",
    ),
    "skill of another scheme": (
        {"skill": [{"bearer": ["a"]}], "gate": AuthGate(ApiKeyAuthenticator({}))},
        "skill 'one': unknown security scheme bearer; known: apiKey",
    ),
}


@pytest.mark.parametrize(("said", "problem"), PROMISES.values(), ids=PROMISES.keys())
def test_an_unenforced_requirement_stops_the_start(said: dict[str, object], problem: str) -> None:
    """A card never requires more than the gate checks."""
    agent = Agent("x", security_requirements=said.get("security_requirements", ()))  # type: ignore[arg-type]  # as the table has it
    agent.add("one", who, require=said.get("skill", ()))  # type: ignore[typeddict-item]  # as above
    with pytest.raises(ValueError, match=problem):
        # As above.
        create_app(Surface(agent, gate=said.get("gate")), store="memory")  # type: ignore[arg-type]


def test_no_token_is_in_a_log(
    client: httpx.Client, binding: DialectBinding, caplog: pytest.LogCaptureFixture
) -> None:
    """No error, at any log level, writes a token to the log."""
    caplog.set_level(logging.DEBUG)
    good = ISSUER.issue_token("ada", scope="tasks")
    bad = ISSUER.issue_token(exp=1)
    for token in (good, bad, "not-even-a-token"):
        AuthenticatedClient(client, binding, token=token).call_raw(
            SEND_MESSAGE, build_send_request("x")
        )
    assert not [
        record
        for record in caplog.records
        if any(token in record.getMessage() for token in (good, bad, "not-even-a-token"))
    ]


class KeyServer:
    """Publishes an issuer's keys on a real socket, while it is available."""

    def __init__(self, issuer: TokenIssuer) -> None:
        self.issuer = issuer
        self.is_available = True
        self.request_count = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)

    def __enter__(self) -> Self:
        self._thread.start()
        self._receiver = WebhookReceiver(self._answer)
        asyncio.run_coroutine_threadsafe(self._receiver.__aenter__(), self._loop).result()
        self.url = f"http://127.0.0.1:{self._receiver.port}/keys"
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(
            self._receiver.__aexit__(None, None, None), self._loop
        ).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _answer(self, _call: WebhookRequest) -> WebhookResponse:
        self.request_count += 1
        if self.is_available:
            return WebhookResponse(200, body=self.issuer.jwks())
        return WebhookResponse(503)


def test_keys_are_fetched_over_http_and_rotated() -> None:
    """Fetched once, again for a new key, and cached during an outage."""
    issuer = TokenIssuer()
    with KeyServer(issuer) as publisher:
        agent = Agent("known")
        agent.add("who", who)
        gate = AuthGate(
            JwtAuthenticator(
                JwksKeys(publisher.url, KeyCachePolicy(min_refresh_interval=0)), issuer.validation()
            )
        )
        with serve_on_socket(
            create_app(Surface(agent, gate=gate), store="memory", settings=FAST_SETTINGS)
        ) as client:
            binding = DialectBinding(V1_0.name, is_jsonrpc=True)

            def status(token: str) -> int:
                return (
                    AuthenticatedClient(client, binding, token=token)
                    .call_raw(SEND_MESSAGE, build_send_request("x"))
                    .status_code
                )

            first = issuer.issue_token()
            assert [status(first) for _ in range(3)] == [200, 200, 200]
            assert publisher.request_count == 1
            issuer.rotate()
            assert [status(issuer.issue_token()), status(first)] == [200, 200]
            assert publisher.request_count == 2
            publisher.is_available = False
            assert status(first) == 200
            unknown = TokenIssuer().issue_token()
            assert status(unknown) == 503
            publisher.is_available = True
            assert status(unknown) == 401


WRONG = {
    **WRONG_TOKENS,
    "an unknown key": (
        lambda: TRUSTED.issue_token(header={"kid": "made-up"}),
        "The signing key is unknown",
    ),
}


@pytest.mark.parametrize(
    "binding",
    [DialectBinding(V1_0.name, is_jsonrpc=True), DialectBinding(V0_3.name, is_jsonrpc=False)],
    ids=str,
)
def test_invalid_tokens_are_rejected_by_published_keys(binding: DialectBinding) -> None:
    """All kinds, over real sockets: with the reason, without the token, and with one fetch."""
    with KeyServer(TRUSTED) as publisher:
        agent = Agent("known")
        agent.add("who", who)
        gate = AuthGate(
            JwtAuthenticator(
                JwksKeys(
                    publisher.url, KeyCachePolicy(fresh_seconds=3600, min_refresh_interval=3600)
                ),
                TRUSTED.validation(),
            )
        )
        with serve_on_socket(
            create_app(Surface(agent, gate=gate), store="memory", settings=FAST_SETTINGS)
        ) as client:
            method, url, options = DialectClient(client, binding).build_request(
                SEND_MESSAGE, build_send_request("x")
            )

            def answer(*tokens: str) -> httpx.Response:
                headers = [
                    (b"authorization", f"Bearer {token}".rstrip().encode("latin-1"))
                    for token in tokens
                ]
                return client.request(
                    method,
                    url,
                    content=options["content"],
                    headers=[(b"content-type", b"application/json"), *headers],
                )

            assert answer(TRUSTED.issue_token()).status_code == 200
            for name, (token, reason) in WRONG.items():
                wrong = token()
                refused = answer(wrong)
                assert (refused.status_code, reason in refused.text) == (401, True), name
                assert not wrong or wrong not in refused.text + str(refused.headers)
                assert 'error="invalid_token"' in refused.headers["www-authenticate"]
            twice = answer(TRUSTED.issue_token(), TRUSTED.issue_token())
            assert (twice.status_code, "more than once" in twice.text) == (401, True)
        assert publisher.request_count == 1


def test_responses_to_callers_are_not_cached(client: httpx.Client) -> None:
    """A shared cache does not know custom headers with keys."""
    key = {"X-API-Key": "k"}
    for path in ("/tasks", "/extendedAgentCard", "/v1/card"):
        answer = client.get(path, headers=key)
        assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")


def test_the_public_card_needs_no_token(client: httpx.Client) -> None:
    """A card is public on a guarded surface too."""
    assert client.get("/.well-known/agent-card.json").status_code == 200
    assert json.loads(client.get("/.well-known/agent.json").content)["name"] == "guarded"
    assert isinstance(person(client, DIALECT_BINDINGS[0]), DialectClient)
