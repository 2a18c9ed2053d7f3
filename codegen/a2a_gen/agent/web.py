"""Fetching what a card of somebody else leads to: as it is, in moderate size, and only from origins that the user has named.

Who makes a client sits behind firewalls, and what is fetched is kept in files: a card that may name any address, or an agent that may redirect to
any, would read there for whoever wrote it.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from typing import NamedTuple
from urllib.parse import urljoin

import httpx

from a2a_gen.problems import ProjectError

_LARGEST = 4_000_000
_SECONDS = 60
_REDIRECTS = 5
_SCHEMES = frozenset({"http", "https"})


class Answer(NamedTuple):
    """What is at an address, and the address that it was found at in the end."""

    url: str
    status: int
    kind: str
    content: bytes


def public(where: str) -> str:
    """Name where an agent is without the password that may stand in its URL."""
    return str(_url(where).copy_with(username=None, password=None)) if "://" in where else where


def origin(url: str) -> str:
    """Give scheme, host and port of an address."""
    read = _url(url)
    if read.scheme not in _SCHEMES or not read.netloc:
        raise ProjectError(f"{public(url)!r} is no address of the Web", "give a URL that begins with https:// or http://")
    return f"{read.scheme}://{read.netloc.decode('ascii')}"


def joined(base: str, text: str) -> str:
    """Read an address that may be relative to another."""
    try:
        return urljoin(base, text)
    except ValueError:
        raise _no_address(text) from None


def get(url: str, http: httpx.Client, origins: Collection[str]) -> Answer:
    """Fetch something from one of some origins; redirects are followed as long as they stay within those."""
    for _ in range(_REDIRECTS):
        if origin(url) not in origins:
            raise ProjectError(
                f"{public(url)} is not where the agent is, and nothing else is read unasked", f"if you trust it: --schemas-from {origin(url)}"
            )
        try:
            answer = _get(url, http)
        except httpx.HTTPError as error:
            raise ProjectError(f"{public(url)} cannot be reached: {error}", "check the address, and that the agent runs") from None
        location = answer.headers.get("location")
        if not answer.is_redirect or location is None:
            return Answer(url, answer.status_code, answer.headers.get("content-type", ""), answer.content)
        url = joined(url, location)
    raise ProjectError(f"{public(url)} leads on and on", "give the address where the agent really is")


def _get(url: str, http: httpx.Client) -> httpx.Response:
    end = time.monotonic() + _SECONDS
    with http.stream("GET", url, headers={"accept": "application/json", "accept-encoding": "identity"}) as answer:
        if answer.headers.get("content-encoding", "identity") != "identity":
            raise ProjectError(f"{public(url)} answers packed, which was not asked for", "ask whoever runs the agent")
        content = bytearray()
        for piece in answer.iter_raw():
            content += piece
            if len(content) > _LARGEST:
                raise ProjectError(f"{public(url)} answers with more than {_LARGEST} bytes", "this is no card and no schema of one")
            if time.monotonic() > end:
                raise ProjectError(f"{public(url)} takes more than {_SECONDS} seconds to answer", "try again later")
        return httpx.Response(answer.status_code, headers=answer.headers, content=bytes(content))


def _url(text: str) -> httpx.URL:
    try:
        url = httpx.URL(text)
        _ = url.host  # which is read only now, and may be no name of a host
    except (httpx.InvalidURL, ValueError):
        raise _no_address(text) from None
    return url


def _no_address(text: str) -> ProjectError:
    return ProjectError(f"{text!r} is no address", "ask whoever runs the agent")
