"""Pages for browsers, as the endpoints send them; features build them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from litestar.types import HTTPScope

from a2a_runtime.http.asgi import Header

HTML = "text/html; charset=utf-8"


@dataclass(frozen=True, slots=True)
class HtmlDocument:
    """An HTML document with its headers."""

    body: bytes
    headers: tuple[Header, ...]


FindPage: TypeAlias = Callable[[HTTPScope], HtmlDocument | None]
"""Finds the page for a browser at a path where agents have none."""


def wants_page(method: str, headers: Mapping[bytes, bytes]) -> bool:
    """Tell whether a request is that of a person in front of a browser."""
    return method in ("GET", "HEAD") and b"text/html" in headers.get(b"accept", b"")
