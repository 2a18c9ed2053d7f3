"""Rate limits, concurrency, sizes, and the audit log."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from conformance.security.guarded_apps import (
    ISSUER,
    AuthenticatedClient,
    build_gate,
    build_guarded_agent,
)
from integration.dialect_client import (
    DIALECT_BINDINGS,
    DialectBinding,
    DialectClient,
    build_send_request,
)
from litestar.testing import TestClient

from a2a_contract.dialects import MESH, V0_3, V1_0
from a2a_contract.operations import CANCEL_TASK, GET_TASK, SEND_MESSAGE
from a2a_contract.v1_0 import CancelTaskRequest, GetTaskRequest
from a2a_runtime.app import create_app
from a2a_runtime.auth.authentication import Identity
from a2a_runtime.auth.authenticators import ApiKeyAuthenticator, digest_key
from a2a_runtime.auth.gate import AuthGate
from a2a_runtime.auth.rate_limit import ANY_OPERATION, FailedAttemptLimiter, RateLimit, RateLimiter
from a2a_runtime.base.logs import SanitizingFormatter, audit, sanitize
from a2a_runtime.stores.base import StoreOptions
from a2a_runtime.stores.memory import MemoryStore
from a2a_runtime.surface import Limits, Surface
from a2a_runtime.testing.agent import FAST_SETTINGS
from a2a_runtime.testing.clock import FakeClock

RPC = DialectBinding(V1_0.name, is_jsonrpc=True)
MESH_BINDING = DialectBinding(MESH.name, is_jsonrpc=True)
ADA = ISSUER.issue_token("ada", org="acme")
EVE = ISSUER.issue_token("eve", org="acme")


@contextmanager
def surface(**options: object) -> Iterator[TestClient[object]]:
    """Serve a surface with some limits."""
    with TestClient(
        create_app(
            Surface(build_guarded_agent(), gate=build_gate(), **options),
            store="memory",
            settings=FAST_SETTINGS,
        )
    ) as client:  # type: ignore[arg-type]  # whatever a test says
        yield client  # type: ignore[misc]  # an app of Litestar


@pytest.mark.requirement("1.0", "13.4c")
@pytest.mark.parametrize("is_shared", [False, True], ids=["this process", "all replicas"])
@pytest.mark.parametrize("binding", DIALECT_BINDINGS, ids=str)
def test_requests_are_limited_per_caller_and_operation(
    binding: DialectBinding,
    is_shared: bool,  # noqa: FBT001 - a table
) -> None:
    """The rejection says when to retry."""
    clock = FakeClock()
    count = MemoryStore(StoreOptions(clock)).count if is_shared else None
    with surface(
        rate_limiter=RateLimiter(
            {SEND_MESSAGE.name: RateLimit(2, 60), ANY_OPERATION: RateLimit(3, 60)},
            count,
            clock=clock,
        )
    ) as client:
        ada, eve = (AuthenticatedClient(client, binding, token=token) for token in (ADA, EVE))
        assert [
            ada.call_raw(SEND_MESSAGE, build_send_request("x")).status_code for _ in range(3)
        ] == [200, 200, 429]
        refused = ada.call_raw(SEND_MESSAGE, build_send_request("x"))
        assert 1 <= int(refused.headers["retry-after"]) <= 61
        assert eve.call_raw(SEND_MESSAGE, build_send_request("x")).status_code == 200
        found = [ada.call_raw(GET_TASK, GetTaskRequest(id="nope")).status_code for _ in range(4)]
        assert found[-1] == 429
        assert 429 not in found[:3]
        clock.advance(61)
        assert ada.call_raw(SEND_MESSAGE, build_send_request("x")).status_code == 200


@pytest.mark.parametrize("binding", [*DIALECT_BINDINGS, MESH_BINDING], ids=str)
def test_failed_attempts_are_limited(
    binding: DialectBinding, caplog: pytest.LogCaptureFixture
) -> None:
    """In the form of the dialect, with the time; audited without the credentials."""
    caplog.set_level(logging.INFO, "a2a_runtime.audit")
    gate = AuthGate(
        ApiKeyAuthenticator(
            {digest_key("k"): Identity("ada")},
            failed_attempts=FailedAttemptLimiter(RateLimit(2, 60), None),
        )
    )
    mounted = Surface(
        build_guarded_agent(),
        gate=gate,
        dialects=frozenset((V1_0.name, V0_3.name, MESH.name)),
        only=frozenset(("echo",)),
    )
    with TestClient(create_app(mounted, store="memory", settings=FAST_SETTINGS)) as client:
        caller = DialectClient(client, binding)
        request = (
            build_send_request("x", task_id="t-1")
            if binding is MESH_BINDING
            else build_send_request("x")
        )
        answers = [
            caller.call_raw(SEND_MESSAGE, request, x_api_key=f"guess-{number}")
            for number in range(4)
        ]
    assert [each.status_code for each in answers] == [401, 401, 429, 429]
    assert 1 <= int(answers[-1].headers["retry-after"]) <= 61
    body = answers[-1].json()
    error = body.get("error", body)
    assert isinstance(error["code"], int)
    assert "Too many" in error["message"]
    assert ("error" in body) is (binding.is_jsonrpc or binding.dialect == V1_0.name)
    lines = [
        json.loads(each.getMessage()) for each in caplog.records if each.name == "a2a_runtime.audit"
    ]
    assert [each["event"] for each in lines] == ["refused", "refused", "limited", "limited"]
    assert "guess-" not in caplog.text


def test_concurrent_requests_are_limited() -> None:
    """A request beyond the limit is told to retry."""
    with surface(limits=Limits(concurrency=0)) as client:
        assert (
            "temporarily unavailable"
            in AuthenticatedClient(client, RPC, token=ADA)
            .call_raw(SEND_MESSAGE, build_send_request("x"))
            .text
        )
        assert client.get("/.well-known/agent-card.json").status_code == 200
    with surface(limits=Limits(concurrency=1)) as client:
        ada = AuthenticatedClient(client, RPC, token=ADA)
        assert [
            ada.call_raw(SEND_MESSAGE, build_send_request("x")).status_code for _ in range(3)
        ] == [200] * 3


SIZES = {
    "too many parts": (["a", "b", "c", "d"], "at most 3 parts"),
    "a part too large": (["x" * 2000], "more than 1000 bytes"),
    "data too deep": ([{"a": [{"b": [1]}]}], "deeper than 3 levels"),
}


@pytest.mark.parametrize(("values", "said"), SIZES.values(), ids=SIZES.keys())
@pytest.mark.parametrize("binding", [*DIALECT_BINDINGS, MESH_BINDING], ids=str)
def test_messages_are_limited(binding: DialectBinding, values: list[object], said: str) -> None:
    """Parts, bytes and nesting, with the field path."""
    if binding is MESH_BINDING and "deeper" in said:
        pytest.skip("mesh has no data, only texts")
    only = (
        {"dialects": frozenset((V1_0.name, V0_3.name, MESH.name)), "only": frozenset(("echo",))}
        if binding is MESH_BINDING
        else {}
    )
    with surface(limits=Limits(parts=3, part_bytes=1000, depth=3), **only) as client:
        ada = AuthenticatedClient(client, binding, token=ADA)
        answer = ada.call_raw(
            SEND_MESSAGE, build_send_request(*values, skill="echo", task_id="t-1" if only else None)
        )
        assert said in answer.text
        assert "message.parts" in answer.text
        assert ada.task({"a": [1]}, "x", skill="echo", task_id="t-2" if only else None).id


def test_history_is_limited() -> None:
    """The setting limits the history of a task, whatever length the client requests."""
    with surface(limits=Limits(history=1)) as client:
        ada = AuthenticatedClient(client, RPC, token=ADA)
        task = ada.task("x", skill="ask")
        ada.task("y", task_id=task.id)
        assert len(ada.get(task.id, history_length=100).history or ()) == 1
        assert [len(each.history or ()) for each in ada.list(history_length=50).tasks] == [1]


@pytest.mark.requirement("1.0", "13.4c")
def test_rejections_denials_and_cancels_are_audited(caplog: pytest.LogCaptureFixture) -> None:
    """One line of JSON each, with caller and reason, without credentials."""
    caplog.set_level(logging.INFO, "a2a_runtime.audit")
    with surface() as client:
        AuthenticatedClient(client, RPC, token="wrong").call_raw(  # noqa: S106 - of this test
            SEND_MESSAGE, build_send_request("x")
        )
        AuthenticatedClient(client, RPC, token=ADA).call_raw(
            SEND_MESSAGE, build_send_request("x", tenant="umbrella")
        )
        AuthenticatedClient(client, RPC, token=ADA).call_raw(
            CANCEL_TASK, CancelTaskRequest(id="x" * 5000)
        )
    audit("test", said="evil\n\x1b[31m", caller="")
    lines = [
        json.loads(each.getMessage()) for each in caplog.records if each.name == "a2a_runtime.audit"
    ]
    assert [(each["event"], each["caller"]) for each in lines] == [
        ("refused", ""),
        ("denied", "ada"),
        ("cancel", "ada"),
        ("test", ""),
    ]
    assert lines[0]["reason"] == "The token is not valid"
    assert len(lines[2]["task"]) == 1000
    assert "\x1b" not in lines[3]["said"]
    assert not [
        each for each in caplog.records if "wrong" in each.getMessage() or ADA in each.getMessage()
    ]


@pytest.mark.requirement("apcore", "NFR-SEC-002")
def test_logged_texts_control_no_terminal() -> None:
    """Cut at 1,000 characters, without control characters; line breaks and tabs become JSON
    escapes.
    """
    assert sanitize("a\x00b\x1b[0m\u202ec\n\td" + "x" * 2000) == "ab[0mc\n\td" + "x" * 988
    audit("test", said="a\nb")  # without a listener nothing is written
    try:
        int("boom\x1b[31m" + "x" * 5000)
    except ValueError:
        evil = logging.LogRecord(
            "a", logging.ERROR, __file__, 1, "said %s", ("hi\nFAKE line\x1b[31m",), sys.exc_info()
        )
    written = SanitizingFormatter("%(levelname)s %(message)s").format(evil).splitlines()
    assert written[0] == "ERROR said hi\\nFAKE line[31m"
    assert max(map(len, written)) <= 1000
    assert not [line for line in written if "\x1b" in line]


def preflight(client: TestClient[object], path: str, origin: str) -> dict[str, str]:
    """Send a CORS preflight."""
    preflight = {
        "origin": origin,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,content-type",
    }
    return dict(client.options(path, headers=preflight).headers)


PAGE = "https://app.example"


def test_cross_origin_requests_need_an_allowed_origin(caplog: pytest.LogCaptureFixture) -> None:
    """No foreign origin is allowed by default; "*" allows all, with a warning."""
    for origins, allowed in (
        ((), {}),
        ((PAGE,), {PAGE: PAGE}),
        (("*",), {PAGE: "*", "https://evil.example": "*"}),
    ):
        caplog.clear()
        app = create_app(
            Surface(build_guarded_agent(), gate=build_gate()),
            store="memory",
            settings=replace(FAST_SETTINGS, cors_origins=origins),
        )
        with TestClient(app) as client:
            for origin in (PAGE, "https://evil.example"):
                for path in ("/", "/message:send", "/.well-known/agent-card.json"):
                    assert preflight(client, path, origin).get(
                        "access-control-allow-origin"
                    ) == allowed.get(origin)
                    answer = client.post(path, json={}, headers={"origin": origin})
                    assert answer.headers.get("access-control-allow-origin") == allowed.get(origin)
                    assert "access-control-allow-credentials" not in answer.headers
        assert bool([each for each in caplog.records if "every page" in each.getMessage()]) is (
            origins == "*"
        )


@pytest.mark.requirement("1.0", "13.4c")
def test_hsts_is_sent_if_configured() -> None:
    """Every response has the HSTS header if it is configured, also errors and cards."""
    for seconds, said in ((0, None), (60, "max-age=60; includeSubDomains")):
        app = create_app(
            Surface(build_guarded_agent(), gate=build_gate()),
            store="memory",
            settings=replace(FAST_SETTINGS, hsts_seconds=seconds),
        )
        with TestClient(app) as client:
            for path in ("/.well-known/agent-card.json", "/tasks", "/nothing/at/all/here"):
                assert client.get(path).headers.get("strict-transport-security") == said
