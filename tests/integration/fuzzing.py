"""Invalid documents: close to valid ones and far from them, also in bytes that no JSON has."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

EXAMPLES = Path(__file__).parents[2] / "schema" / "examples"
DOCUMENTS: list[Any] = [
    document
    for path in sorted(EXAMPLES.glob("*/*.json"))
    for document in json.loads(path.read_bytes()).get("valid", {}).values()
]

RAW = {
    "@deep": "[" * 20_000 + "]" * 20_000,
    "@deeper object": '{"a":' * 3_000 + "1" + "}" * 3_000,
    "@infinite": "1e999",
    "@digits": "9" * 5_000,
    "@not a number": "NaN",
    "@long": '"' + "x" * 200_000 + '"',
    "@surrogate": '"\\ud800"',
    "@nul": '"\\u0000"',
    "@twice": '1,"id":2',
}
"""What ``json`` would not write: the marker stands in a document, and this in its bytes."""

NASTY = [
    "",
    " ",
    "..",
    "../../etc/passwd",
    "%00",
    "%2e%2e",
    "\u2028",
    "\U0001f600",
    "'; DROP TABLE tasks; --",
    "{{7*7}}",
    "a" * 5_000,
    ":cancel",
    "a:b:cancel",
]

SCALARS: st.SearchStrategy[Any] = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(
        [
            *RAW,
            *NASTY,
            -1,
            0,
            2**31,
            2**63,
            10**100,
            "TASK_STATE_WORKING",
            "ROLE_USER",
            "2026-01-01T00:00:00Z",
        ]
    )
)
JSON: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=8,
)


def places(
    document: Any,  # noqa: ANN401 - any JSON
    here: tuple[str | int, ...] = (),
) -> Iterator[tuple[str | int, ...]]:
    """List the places of everything in a document."""
    yield here
    if isinstance(document, dict):
        pairs: Iterable[tuple[str | int, Any]] = document.items()
    elif isinstance(document, list):
        pairs = enumerate(document)
    else:
        return
    for name, value in pairs:
        yield from places(value, (*here, name))


def put(document: Any, place: tuple[str | int, ...], value: Any) -> Any:  # noqa: ANN401 - any JSON
    """Put something in the place of something else."""
    if not place:
        return value
    *way, last = place
    node = document
    for step in way:
        node = node[step]
    node[last] = value
    return document


@st.composite
def spoil_documents(draw: st.DrawFn, ids: tuple[str, ...] = ()) -> Any:  # noqa: ANN401 - any JSON
    """Take a right document, and put up to three wrong things into it."""
    document = deepcopy(draw(st.sampled_from(DOCUMENTS)))
    for _ in range(draw(st.integers(0, 3))):
        place = draw(st.sampled_from(list(places(document))))
        document = put(document, place, draw(JSON if not ids else JSON | st.sampled_from(ids)))
    return document


def to_bytes(document: object) -> bytes:
    """Write a document, with what JSON does not have in it."""
    text = json.dumps(document)
    for marker, raw in RAW.items():
        text = text.replace(json.dumps(marker), raw)
    return text.encode("ascii")


BODIES: st.SearchStrategy[bytes] = st.one_of(
    st.binary(max_size=200),
    st.sampled_from(
        [
            b"",
            b"\xff\xfe{}",
            b"\xef\xbb\xbf{}",
            b"{" * 50_000,
            b"[" * 50_000 + b"]" * 50_000,
            b'{"a":"' + b"\xc3\x28" + b'"}',
            b"\x00" * 100,
        ]
    ),
    JSON.map(to_bytes),
    spoil_documents(("known-1",)).map(to_bytes),
)
