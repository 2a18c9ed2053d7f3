"""The outbound client over real sockets: permitted and refused targets, and limits."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from a2a_contract.v1_0 import Part, TaskState
from a2a_runtime.engine.engine import EngineOptions
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.net.client import GuardedHttpClient, OutboundLimits
from a2a_runtime.net.policy import OutboundPolicy
from a2a_runtime.net.target import (
    AddressRefusedError,
    InvalidOutboundResponseError,
    OutboundConnectError,
    OutboundError,
    OutboundTimeoutError,
    OutboundTooLargeError,
    UrlRefusedError,
)
from a2a_runtime.testing.agent import FAST_SETTINGS, run_agent
from a2a_runtime.testing.resolver import TableResolver
from a2a_runtime.testing.webhook_receiver import WebhookReceiver, WebhookRequest, WebhookResponse

pytestmark = pytest.mark.anyio

HERE = OutboundPolicy(allow_loopback=True)
HASTY = OutboundLimits(
    connect_timeout_seconds=1, timeout_seconds=0.5, max_bytes=100_000, max_redirects=2
)
CERTIFICATE = Path(__file__).with_name(
    "hook.example.pem"
)  # of hook.example, valid for ever, with its key


def call_by_name(url: str, host: str = "hook.example") -> str:
    """Call a receiver by a host name."""
    return url.replace("127.0.0.1", host)


async def test_a_file_is_fetched() -> None:
    """The content comes back as it was sent; the request has no cookie, credential or encoding in
    it.
    """
    async with (
        WebhookReceiver(lambda _: WebhookResponse(200, body=b"content\x00")) as receiver,
        GuardedHttpClient(HERE) as client,
    ):
        assert await client.fetch(f"{receiver.url}?a=b") == b"content\x00"
        (call,) = receiver.requests
        assert (call.method, call.path, call.headers["host"]) == (
            "GET",
            "/hook?a=b",
            f"127.0.0.1:{receiver.port}",
        )
        assert set(call.headers) == {"host", "user-agent", "accept", "accept-encoding"}


async def test_a_name_that_leads_here_is_refused_without_the_switch() -> None:
    """No connection is made; the log reads where the name leads, the caller does not."""
    async with (
        WebhookReceiver() as receiver,
        GuardedHttpClient(
            OutboundPolicy(ports=frozenset({receiver.port})),
            resolver=TableResolver({"x.example": ["127.0.0.1"]}),
        ) as client,
    ):
        with pytest.raises(AddressRefusedError) as caught:
            await client.fetch(f"https://x.example:{receiver.port}/")
        assert receiver.requests == []
        assert "127.0.0.1" in caught.value.hint
        assert "127.0.0.1" not in caught.value.message


@pytest.mark.parametrize(
    "answer",
    ["169.254.169.254", "8.8.8.8 10.0.0.1", "::ffff:10.0.0.1", "fd00:ec2::254", "2002:7f00:1::"],
)
async def test_every_address_of_a_name_counts(answer: str) -> None:
    """A single address that is not called is enough to refuse a name."""
    async with GuardedHttpClient(HERE, resolver=TableResolver({"x.example": [answer]})) as client:
        with pytest.raises(AddressRefusedError):
            await client.fetch("https://x.example/")


async def test_a_name_is_resolved_once() -> None:
    """A name that leads somewhere else for each question is called where it led when it was
    judged.
    """
    resolver = TableResolver({"hook.example": ["127.0.0.1", "10.255.255.1"]})
    async with WebhookReceiver() as receiver, GuardedHttpClient(HERE, resolver=resolver) as client:
        assert (await client.post(call_by_name(receiver.url), {}, b"")).status == 204
        assert resolver.lookups == ["hook.example"]


async def test_a_name_that_turns_bad_is_refused() -> None:
    """Once its connection is gone, a name is judged again, and refused when it has come to lead
    elsewhere.
    """
    resolver = TableResolver({"hook.example": ["127.0.0.1", "10.255.255.1"]})
    async with (
        WebhookReceiver(lambda _: WebhookResponse(204, {"Connection": "close"})) as receiver,
        GuardedHttpClient(HERE, resolver=resolver) as client,
    ):
        await client.post(call_by_name(receiver.url), {}, b"")
        with pytest.raises(AddressRefusedError):
            await client.post(call_by_name(receiver.url), {}, b"")
        assert len(receiver.requests) == 1


async def test_the_next_address_is_tried() -> None:
    """If the first address of a host does not answer, the next one is used."""
    resolver = TableResolver({"hook.example": ["127.0.0.2 127.0.0.1"]})
    async with WebhookReceiver() as receiver, GuardedHttpClient(HERE, resolver=resolver) as client:
        assert (await client.post(call_by_name(receiver.url), {}, b"")).status == 204


async def test_tls_knows_the_name() -> None:
    """The connection goes to an address, but the certificate and the Host header are of the
    name.
    """
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(CERTIFICATE)
    server_names: list[str | None] = []
    context.sni_callback = lambda _socket, name, _context: server_names.append(name)
    resolver = TableResolver({"hook.example": ["127.0.0.1"], "other.example": ["127.0.0.1"]})
    trust = ssl.create_default_context(cafile=str(CERTIFICATE))
    async with (
        WebhookReceiver(ssl_context=context) as receiver,
        GuardedHttpClient(HERE, resolver=resolver, ssl_context=trust) as client,
    ):
        assert (await client.post(call_by_name(receiver.url), {}, b"")).status == 204
        assert server_names == ["hook.example"]
        assert receiver.requests[0].headers["host"] == f"hook.example:{receiver.port}"
        with pytest.raises(OutboundConnectError):
            await client.post(call_by_name(receiver.url, "other.example"), {}, b"")
    async with (
        WebhookReceiver(ssl_context=context) as receiver,
        GuardedHttpClient(HERE, resolver=resolver) as client,
    ):
        with pytest.raises(OutboundConnectError):
            await client.post(call_by_name(receiver.url), {}, b"")


async def test_http_stays_on_this_machine() -> None:
    """The switch permits no call without encryption to another machine, whatever its name."""
    async with GuardedHttpClient(
        HERE, resolver=TableResolver({"x.example": ["93.184.216.34"]})
    ) as client:
        with pytest.raises(AddressRefusedError):
            await client.fetch("http://x.example/")


async def test_the_switch_opens_no_port_of_another_machine() -> None:
    """A name that leads elsewhere is called at the ports of the settings only."""
    async with GuardedHttpClient(
        HERE, resolver=TableResolver({"x.example": ["93.184.216.34"]})
    ) as client:
        with pytest.raises(AddressRefusedError) as caught:
            await client.fetch("https://x.example:22/")
        assert "A2A_OUTBOUND_PORTS" in caught.value.hint


async def test_redirects_are_judged() -> None:
    """A redirect is followed where its target may be called, and refused where it may not."""

    def answer(call: WebhookRequest) -> WebhookResponse:
        wheres = {
            "/hook": "/next",
            "/next": "there",
            "/out": "https://10.0.0.1/",
            "/name": "https://x.example/",
            "/bad": "https://[",
            "/loop": "/loop",
        }
        if call.path in wheres:
            return WebhookResponse(302, {"Location": wheres[call.path]})
        return WebhookResponse(200, body=call.path.encode())

    resolver = TableResolver({"x.example": ["10.0.0.1"]})
    async with (
        WebhookReceiver(answer) as receiver,
        GuardedHttpClient(HERE, HASTY, resolver=resolver) as client,
    ):
        assert await client.fetch(receiver.url) == b"/there"
        cases: dict[str, type[OutboundError]] = {
            "/out": UrlRefusedError,
            "/name": AddressRefusedError,
            "/bad": UrlRefusedError,
            "/loop": InvalidOutboundResponseError,
        }
        for path, error in cases.items():
            with pytest.raises(error):
                await client.fetch(receiver.url.replace("/hook", path))


async def test_a_post_is_not_redirected() -> None:
    """The body is sent to no other address."""
    async with (
        WebhookReceiver(lambda _: WebhookResponse(307, {"Location": "/other"})) as receiver,
        GuardedHttpClient(HERE) as client,
    ):
        answer = await client.post(receiver.url, {"X-Secret": "s"}, b"{}")
        assert (answer.status, answer.headers["location"], len(receiver.requests)) == (
            307,
            "/other",
            1,
        )


WRONG: dict[str, tuple[Callable[[WebhookRequest], WebhookResponse], type[OutboundError]]] = {
    "not found": (lambda _: WebhookResponse(404, body=b"no"), InvalidOutboundResponseError),
    "encoded": (
        lambda _: WebhookResponse(200, {"Content-Encoding": "gzip"}, b"\x1f\x8b"),
        InvalidOutboundResponseError,
    ),
    "too large": (lambda _: WebhookResponse(200, body=bytes(200_000)), OutboundTooLargeError),
    "no answer": (lambda _: WebhookResponse(200, delay_seconds=5), OutboundTimeoutError),
    "drop by drop": (
        lambda _: WebhookResponse(200, body=bytes(50_000), chunk_delay_seconds=0.1),
        OutboundTimeoutError,
    ),
    "hangs up": (lambda _: WebhookResponse(should_disconnect=True), OutboundConnectError),
    "incomplete": (lambda _: WebhookResponse(200, {"Content-Length": "100"}), OutboundTimeoutError),
}


@pytest.mark.parametrize(("answer", "error"), WRONG.values(), ids=WRONG)
async def test_failed_fetches(
    answer: Callable[[WebhookRequest], WebhookResponse], error: type[OutboundError]
) -> None:
    """Every fault of the server has its error, in time; a limit holds for the whole call, not for
    each chunk.
    """
    async with WebhookReceiver(answer) as receiver, GuardedHttpClient(HERE, HASTY) as client:
        began = time.monotonic()
        with pytest.raises(error):
            await client.fetch(receiver.url)
        assert time.monotonic() - began < 5


async def test_a_limit_per_call() -> None:
    """A call may accept less than the operator permits."""
    async with (
        WebhookReceiver(lambda _: WebhookResponse(200, body=b"12345")) as receiver,
        GuardedHttpClient(HERE) as client,
    ):
        assert await client.fetch(receiver.url, 5) == b"12345"
        with pytest.raises(OutboundTooLargeError):
            await client.fetch(receiver.url, 4)


async def test_an_answer_counts_from_its_status() -> None:
    """A POST is answered as soon as the status is there, even if its body never ends."""
    async with (
        WebhookReceiver(
            lambda _: WebhookResponse(200, body=bytes(50_000), chunk_delay_seconds=1)
        ) as receiver,
        GuardedHttpClient(HERE) as client,
    ):
        began = time.monotonic()
        assert (await client.post(receiver.url, {}, b"")).status == 200
        assert time.monotonic() - began < 10  # not the 49 seconds of the body


async def test_nobody_listens() -> None:
    """A closed port, a name without an address, and a name that cannot be one are told apart for
    the log only.
    """
    async with WebhookReceiver() as receiver:
        url = receiver.url
    async with GuardedHttpClient(HERE) as client:
        with pytest.raises(OutboundConnectError) as closed:
            await client.fetch(url)
        with pytest.raises(OutboundConnectError) as unknown:
            await client.fetch("https://name.invalid/")
        assert closed.value.message == unknown.value.message == AddressRefusedError("").message
        assert closed.value.hint != unknown.value.hint


async def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy would connect to addresses that no policy has checked."""
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    async with WebhookReceiver() as receiver, GuardedHttpClient(HERE) as client:
        assert (await client.post(receiver.url, {}, b"")).status == 204


async def test_connections_are_used_again() -> None:
    """Many calls to one receiver in a row need one connection."""
    resolver = TableResolver({"hook.example": ["127.0.0.1"]})
    async with (
        WebhookReceiver(lambda _: WebhookResponse(200, body=b"ok")) as receiver,
        GuardedHttpClient(HERE, resolver=resolver) as client,
    ):
        for _ in range(5):
            await client.post(call_by_name(receiver.url), {}, b"{}")
        assert resolver.lookups == ["hook.example"]


async def test_a_call_can_be_cancelled() -> None:
    """A cancellation is no error of the server, and the client stays usable."""
    async with (
        WebhookReceiver(
            lambda call: WebhookResponse(delay_seconds=30 if call.number == 1 else 0)
        ) as receiver,
        GuardedHttpClient(HERE) as client,
    ):
        call = asyncio.ensure_future(client.post(receiver.url, {}, b""))
        await receiver.wait_for_requests(1)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert (await client.post(receiver.url, {}, b"")).status == 204


async def test_a_handler_fetches_the_url_of_a_part() -> None:
    """The content behind a URL reaches the handler; a refused URL fails the task, and the error
    discloses nothing of our network.
    """

    async def size(ctx: TaskContext) -> int:
        return len(await ctx.fetch(ctx.message.parts[0]))

    async with (
        WebhookReceiver(lambda _: WebhookResponse(200, body=b"12345")) as receiver,
        GuardedHttpClient(HERE) as client,
        run_agent(size, options=EngineOptions(settings=FAST_SETTINGS, fetcher=client)) as sizer,
    ):
        done = await sizer.send(Part(url=receiver.url))
        assert (done.artifacts or [])[0].parts[0].data == 5
        refused = await sizer.send(Part(url="https://10.0.0.1/"))
        assert refused.status.state is TaskState.FAILED
        assert "10.0.0.1" not in str(refused.status)
