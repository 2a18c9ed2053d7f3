"""Server-sent events, however their bytes are cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_runtime.client.errors import ResponseTooLargeError
from a2a_runtime.client.sse import EventParser, ServerEvent

STREAMS: dict[str, tuple[bytes, list[ServerEvent]]] = {
    "one event": (b"data: a\n\n", [ServerEvent("message", b"a", None)]),
    "line ends of every kind": (
        b"data: a\r\n\r\ndata: b\r\rdata: c\n\n",
        [ServerEvent("message", each, None) for each in (b"a", b"b", b"c")],
    ),
    "several lines of data": (
        b"data: a\ndata: b\ndata\n\n",
        [ServerEvent("message", b"a\nb\n", None)],
    ),
    "only one space is left out": (
        b"data:  a\ndata:b\n\n",
        [ServerEvent("message", b" a\nb", None)],
    ),
    "name and number": (b"event: error\nid: 7\ndata: a\n\n", [ServerEvent("error", b"a", "7")]),
    "a number holds until there is another": (
        b"id: 7\ndata: a\n\ndata: b\n\n",
        [ServerEvent("message", b"a", "7"), ServerEvent("message", b"b", "7")],
    ),
    "a name holds for one event": (
        b"event: x\ndata: a\n\ndata: b\n\n",
        [ServerEvent("x", b"a", None), ServerEvent("message", b"b", None)],
    ),
    "an empty number is none": (b"id: 7\nid\ndata: a\n\n", [ServerEvent("message", b"a", None)]),
    "a number with a NUL is nothing": (
        b"id: 7\nid: a\0b\ndata: a\n\n",
        [ServerEvent("message", b"a", "7")],
    ),
    "comments": (b": ping\n\n:\ndata: a\n: x\n\n", [ServerEvent("message", b"a", None)]),
    "unknown fields": (b"retry: 10\nfoo: bar\ndata: a\n\n", [ServerEvent("message", b"a", None)]),
    "no data, no event": (b"id: 7\nevent: x\n\n", []),
    "empty data": (b"data\n\n", [ServerEvent("message", b"", None)]),
    "byte order mark": (b"\xef\xbb\xbfdata: a\n\n", [ServerEvent("message", b"a", None)]),
    "a second one is no mark": (b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\n", []),
    "not whole at the end": (b"data: a\n\ndata: b\n", [ServerEvent("message", b"a", None)]),
    "line ends that only Python knows": (
        "data: a\u2028b\u2029c\x85d\x0b\x0ce\x1cf\n\n".encode(),
        [ServerEvent("message", "a\u2028b\u2029c\x85d\x0b\x0ce\x1cf".encode(), None)],
    ),
    "characters of four bytes": (
        "data: 😀é\n\n".encode(),
        [ServerEvent("message", "😀é".encode(), None)],
    ),
    "not UTF-8": (b"data: \xff\xfe\n\n", [ServerEvent("message", b"\xff\xfe", None)]),
}


def parse(chunks: list[bytes], limit: int = 1000) -> list[ServerEvent]:
    """Give all events of some chunks."""
    parser = EventParser(limit)
    return [event for chunk in chunks for event in parser.feed(chunk)]


@pytest.mark.parametrize(("stream", "events"), STREAMS.values(), ids=STREAMS.keys())
def test_streams_are_read(stream: bytes, events: list[ServerEvent]) -> None:
    """In one piece, and byte by byte, with empty chunks in between."""
    assert parse([stream]) == events
    assert (
        parse([piece for each in range(len(stream)) for piece in (stream[each : each + 1], b"")])
        == events
    )


@given(st.data())
def test_cuts_do_not_matter(data: st.DataObject) -> None:
    """The same bytes are the same events, wherever they are cut."""
    alphabet = st.sampled_from(
        [
            b"\r",
            b"\n",
            b"\r\n",
            b"data:",
            b"id: ",
            b"event:",
            b":",
            b" ",
            b"a",
            b"\0",
            "é".encode(),
            "\u2028".encode(),
            b"\xef\xbb\xbf",
        ]
    )
    stream = b"".join(data.draw(st.lists(alphabet, max_size=60)))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=10)))
    chunks = [
        stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)
    ]
    assert parse(chunks) == parse([stream])


@given(
    st.lists(
        st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"])), min_size=1
    ),
    st.sampled_from(["\n", "\r", "\r\n"]),
)
def test_encoded_events_are_parsed(texts: list[str], end: str) -> None:
    """Any text that has no line end of the format comes back whole."""
    stream = "".join(f"data: {text}{end}{end}" for text in texts).encode()
    assert [event.data.decode() for event in parse([stream], limit=10_000)] == texts


@pytest.mark.parametrize(
    "chunks",
    [[b"data: " + b"a" * 100], [b"data: " + b"a" * 20] * 5, [b"data: " + b"a" * 10 + b"\n"] * 6],
    ids=["at once", "in pieces", "in lines"],
)
def test_nobody_fills_the_memory(chunks: list[bytes]) -> None:
    """A line or an event that is too large is refused before it is whole."""
    with pytest.raises(ResponseTooLargeError, match="50 bytes"):
        parse(chunks, limit=50)
