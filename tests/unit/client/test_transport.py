"""Carrying questions and answers, over a made-up network."""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator, Iterator

import httpx
import pytest

from a2a_runtime.client.errors import (
    A2AClientError,
    ClosedError,
    ConnectError,
    ConnectionLostError,
    InvalidResponseError,
    ResponseTimeoutError,
    ResponseTooLargeError,
    TransportError,
)
from a2a_runtime.client.options import ClientOptions, RetryPolicy
from a2a_runtime.client.protocols import OutgoingRequest
from a2a_runtime.client.transport import HttpTransport, RetrySafety

pytestmark = pytest.mark.anyio
QUESTION = OutgoingRequest("POST", "http://agent/", body=b"{}", media_type="application/json")


class Naps:
    """A clock on which waiting takes no time and is remembered."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    def millis(self) -> int:
        """Say that it is always the same time."""
        return 0

    def monotonic(self) -> float:
        """Say that it is always the same time."""
        return 0.0

    async def sleep(self, seconds: float) -> None:
        """Remember."""
        self.slept.append(seconds)


class Network:
    """Answers one thing after the other, and counts."""

    def __init__(self, *answers: httpx.Response | Exception) -> None:
        self.answers = list(answers)
        self.requests = list[httpx.Request]()
        self.clock = Naps()
        http = httpx.AsyncClient(transport=httpx.MockTransport(self._answer))
        self.transport = HttpTransport(
            http,
            ClientOptions(
                clock=self.clock, retry_policy=RetryPolicy(attempts=3, initial_delay=1.0)
            ),
            50.0,
        )

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def ask(self, safety: RetrySafety, limit: int = 1000) -> bytes:
        """Ask once."""
        return (await self.transport.fetch(QUESTION, safety, {"x-a": "b"}, max_bytes=limit)).body


def errors_of(root: type[Exception]) -> Iterator[type[Exception]]:
    """List an error and all of its kinds."""
    yield root
    for kind in root.__subclasses__():
        yield from errors_of(kind)


@pytest.mark.parametrize(
    "kind", [*errors_of(httpx.RequestError), httpx.InvalidURL], ids=lambda kind: kind.__name__
)
async def test_no_error_of_httpx_gets_out(kind: type[Exception]) -> None:
    """Each becomes one of ours that names the URL; nothing of a lower layer has to be caught by
    users.
    """
    with pytest.raises(A2AClientError, match="http://agent/"):
        await Network(*[kind("why")] * 3).ask(RetrySafety.UNSAFE)


KINDS: dict[str, tuple[Exception, type[A2AClientError]]] = {
    "refused": (httpx.ConnectError(""), ConnectError),
    "no connection in time": (httpx.ConnectTimeout(""), ConnectError),
    "no answer in time": (httpx.ReadTimeout(""), ResponseTimeoutError),
    "cut off": (httpx.RemoteProtocolError(""), ConnectionLostError),
    "not decodable": (httpx.DecodingError(""), InvalidResponseError),
}


@pytest.mark.parametrize(("error", "kind"), KINDS.values(), ids=KINDS.keys())
async def test_errors_distinguish_unsent_requests(
    error: Exception, kind: type[A2AClientError]
) -> None:
    """A caller may repeat a request of which no byte was sent."""
    with pytest.raises(kind):
        await Network(*[error] * 3).ask(RetrySafety.UNSAFE)


def test_transport_errors_are_builtin_errors() -> None:
    """A handler of the builtin exceptions catches them."""
    assert issubclass(TransportError, ConnectionError)
    assert issubclass(ResponseTimeoutError, TimeoutError)


async def test_a_safe_request_is_repeated() -> None:
    """A safe request is repeated after a delay, up to a maximum of attempts."""
    network = Network(
        httpx.ReadError("cut"), httpx.Response(503), httpx.Response(200, content=b"ok")
    )
    assert await network.ask(RetrySafety.IDEMPOTENT) == b"ok"
    assert [1.0 <= nap < 5.0 for nap in network.clock.slept] == [True, True]
    assert network.requests[0].headers["x-a"] == "b"


async def test_an_unsafe_request_is_sent_once() -> None:
    """A request without a key may have been carried out."""
    network = Network(httpx.ReadError("cut"))
    with pytest.raises(ConnectionLostError):
        await network.ask(RetrySafety.UNSAFE)
    assert len(network.requests) == 1


async def test_attempts_are_limited() -> None:
    """The last response is returned, and the last error is raised."""
    assert (
        await Network(*[httpx.Response(503, content=b"busy")] * 3).transport.fetch(
            QUESTION, RetrySafety.READ, {}, max_bytes=10
        )
    ).status == 503
    with pytest.raises(ConnectError):
        await Network(*[httpx.ConnectError("")] * 3).ask(RetrySafety.READ)


async def test_retry_after_is_kept() -> None:
    """A client waits as long as Retry-After says, unless it is above the maximum."""
    network = Network(
        httpx.Response(429, headers={"retry-after": "7"}),
        httpx.Response(429, headers={"retry-after": "70"}, content=b"later"),
    )
    assert await network.ask(RetrySafety.READ) == b"later"
    assert network.clock.slept == [7.0]


async def endless() -> AsyncIterator[bytes]:
    """Give a body without an end."""
    while True:
        yield b"x" * 100


async def test_an_endless_answer_ends() -> None:
    """No more is read than is taken."""
    with pytest.raises(ResponseTooLargeError, match="250"):
        await Network(httpx.Response(200, content=endless())).ask(RetrySafety.READ, limit=250)


async def test_a_compressed_answer_counts_unpacked() -> None:
    """A small body may be a large one."""
    packed = httpx.Response(
        200, content=gzip.compress(b"x" * 10_000), headers={"content-encoding": "gzip"}
    )
    with pytest.raises(ResponseTooLargeError):
        await Network(packed).ask(RetrySafety.READ, limit=5000)


async def test_a_closed_client_raises() -> None:
    """A closed client raises an error without a request."""
    network = Network()
    await network.transport.aclose()
    with pytest.raises(ClosedError):
        await network.ask(RetrySafety.READ)


def redirect_to(to: str) -> httpx.Response:
    """Point to another place."""
    return httpx.Response(302, headers={"location": to})


MOVES = {
    "on and on": (
        "https://a.example/",
        [redirect_to("/again")] * 10,
        InvalidResponseError,
        "more than 10 redirects",
    ),
    "into the open": (
        "https://a.example/",
        [redirect_to("http://a.example/")],
        InvalidResponseError,
        "redirect from https to http",
    ),
    "to no URL": (
        "https://a.example/",
        [redirect_to("https://a.example:x/")] * 3,
        ConnectionLostError,
        "Invalid port",
    ),
}


@pytest.mark.parametrize(("url", "answers", "error", "said"), MOVES.values(), ids=MOVES.keys())
async def test_invalid_redirects_are_errors(
    url: str, answers: list[httpx.Response], error: type[Exception], said: str
) -> None:
    """A redirect that cannot be followed is an error with the reason."""
    with pytest.raises(error, match=said):
        await Network(*answers).transport.fetch(
            OutgoingRequest("GET", url, follow_redirects=True), RetrySafety.READ, {}, max_bytes=10
        )


async def test_redirects_are_followed_on_request() -> None:
    """Relative to the first URL; otherwise the redirect itself is the response."""
    network = Network(
        redirect_to("b.json"), httpx.Response(200, content=b"card"), redirect_to("b.json")
    )
    reply = await network.transport.fetch(
        OutgoingRequest("GET", "http://a.example/x/a.json", follow_redirects=True),
        RetrySafety.READ,
        {},
        max_bytes=10,
    )
    assert (reply.body, reply.url) == (b"card", "http://a.example/x/b.json")
    assert (
        await network.transport.fetch(QUESTION, RetrySafety.READ, {}, max_bytes=10)
    ).status == 302
