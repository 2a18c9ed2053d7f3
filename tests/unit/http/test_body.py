"""Reading request bodies: whole, in chunks, too large, and cut off."""

from __future__ import annotations

from typing import Any

import pytest
from unit.http.connection import Connection

from a2a_contract.errors import PayloadTooLargeError
from a2a_runtime.http.asgi import ClientDisconnectError, read_body

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    "chunks",
    [[b"hello"], [b"he", b"llo"], [b"", b"hello", b""]],
    ids=["whole", "chunks", "empty chunks"],
)
async def test_chunks_are_joined(chunks: list[bytes]) -> None:
    """A body of exactly the limit is accepted."""
    assert await read_body(Connection(chunks).request(), 5) == b"hello"


@pytest.mark.parametrize(
    "chunks",
    [[b"hello!"], [b"hel", b"lo!"], [b"hello", b"", b"!"]],
    ids=["whole", "chunks", "at the end"],
)
async def test_a_body_over_the_limit_is_refused(chunks: list[bytes]) -> None:
    """One byte over the limit is too much."""
    with pytest.raises(PayloadTooLargeError):
        await read_body(Connection(chunks).request(), 5)


async def test_a_declared_length_over_the_limit_is_refused_unread() -> None:
    """Nothing is received after the first chunk."""
    connection = Connection([b"a", b"b", b"c"])
    with pytest.raises(PayloadTooLargeError):
        await read_body(connection.request(content_length="6"), 5)
    assert connection.received == 1


async def test_reading_stops_at_the_limit() -> None:
    """A body without a declared length is abandoned as soon as it is too large."""
    connection = Connection([b"12345"] * 1000)
    with pytest.raises(PayloadTooLargeError):
        await read_body(connection.request(), 12)
    assert connection.received == 3


async def test_a_disconnect_within_the_body_is_raised() -> None:
    """A disconnect within the body is raised, because no response can be sent."""
    connection = Connection([])
    connection.left.set()
    with pytest.raises(ClientDisconnectError):
        await read_body(connection.request(), 5)


async def test_optional_keys_of_asgi_messages_have_defaults() -> None:
    """A message without a body has an empty one, and without ``more_body`` it is the last one."""

    async def receive() -> Any:  # noqa: ANN401 - an ASGI message
        return {"type": "http.request"}

    assert await read_body(Connection().request(receive), 5) == b""
