"""Reading bodies: whole, in pieces, too large, and cut off."""

from __future__ import annotations

from typing import Any

import pytest
from unit.exchange.connection import Connection

from a2a_contract.errors import PayloadTooLargeError
from a2a_runtime.http.asgi import ClientDisconnectError, read_body

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("chunks", [[b"hello"], [b"he", b"llo"], [b"", b"hello", b""]], ids=["whole", "in pieces", "empty pieces"])
async def test_a_body_is_read_as_it_comes(chunks: list[bytes]) -> None:
    """Pieces are joined, up to the limit and with it."""
    assert await read_body(Connection(chunks).receive, {}, 5) == b"hello"


@pytest.mark.parametrize("chunks", [[b"hello!"], [b"hel", b"lo!"], [b"hello", b"", b"!"]], ids=["whole", "in pieces", "at the end"])
async def test_a_body_that_is_too_large_is_refused(chunks: list[bytes]) -> None:
    """One byte over the limit is too much."""
    with pytest.raises(PayloadTooLargeError):
        await read_body(Connection(chunks).receive, {}, 5)


async def test_a_body_that_says_itself_that_it_is_too_large_is_not_read() -> None:
    """The declared length is believed when it is too large, and nothing more is taken in."""
    connection = Connection([b"a", b"b", b"c"])
    with pytest.raises(PayloadTooLargeError):
        await read_body(connection.receive, {b"content-length": b"6"}, 5)
    assert connection.received == 1


async def test_no_more_is_read_than_the_limit() -> None:
    """A body without a declared length is left as soon as it has become too large."""
    connection = Connection([b"12345"] * 1000)
    with pytest.raises(PayloadTooLargeError):
        await read_body(connection.receive, {}, 12)
    assert connection.received == 3


async def test_a_client_that_leaves_is_not_answered() -> None:
    """Whoever leaves in the middle of a body leaves nobody to answer."""
    connection = Connection([])
    connection.left.set()
    with pytest.raises(ClientDisconnectError):
        await read_body(connection.receive, {}, 5)


async def test_what_a_server_leaves_out_is_what_is_usual() -> None:
    """A message without a body has none, and one that does not say that there is more is the last."""

    async def receive() -> Any:  # noqa: ANN401 - an ASGI message
        return {"type": "http.request"}

    assert await read_body(receive, {}, 5) == b""
