"""The keys that an issuer publishes, kept, and read again when they are old or when a token names one that is not among them.

    fresh for 5 minutes       no request waits for anything
    then read again           while the issuer cannot be reached, the keys go on being good for an hour
    an unknown key            read again too, though not more often than every 10 seconds: anybody can make up keys

Nobody asks twice at once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus
from ipaddress import ip_address
from typing import TypeAlias

import httpx
from jwt import PyJWK
from pydantic_core import from_json

from a2a_contract.errors import UnavailableError
from a2a_contract.json_types import is_list, is_object
from a2a_runtime.auth.keys import KeySet, published, unknown_key
from a2a_runtime.clock import Clock, SystemClock
from a2a_runtime.logs import record

log = logging.getLogger(__name__)

Fetch: TypeAlias = Callable[[str], Awaitable[bytes]]
"""Gets a document, or raises ``UnreadableError``."""

_DISCOVERY = "/.well-known/openid-configuration"
_LARGEST = 1024 * 1024
_SECONDS = 5.0


class UnreadableError(Exception):
    """The document of an issuer cannot be had, or is not what it should be."""


@dataclass(frozen=True, slots=True)
class Times:
    """How long keys are good, in seconds."""

    fresh: float = 300.0
    kept: float = 3600.0
    pause: float = 10.0


class PublishedKeys:
    """The keys at a URL."""

    def __init__(self, url: str, times: Times | None = None, *, clock: Clock | None = None, fetch: Fetch | None = None) -> None:
        self._url, self._times, self._clock = url, times or Times(), clock or SystemClock()
        self._fetch = fetch or fetch_document
        self._keys = KeySet()
        self._read_at = self._tried_at = float("-inf")
        self._turn = asyncio.Lock()
        check_url(url)

    def find(self, key_id: str | None, algorithm: str) -> PyJWK | Awaitable[PyJWK]:
        """Find a key at once, or go and look."""
        key = self._keys.get(key_id, algorithm)
        fresh = self._clock.monotonic() - self._read_at < self._times.fresh
        return key if key is not None and fresh else self._look(key_id, algorithm)

    async def _look(self, key_id: str | None, algorithm: str) -> PyJWK:
        if self._turn.locked() and (key := self._good(key_id, algorithm)) is not None:
            return key  # somebody is looking already
        failed = False
        async with self._turn:
            now = self._clock.monotonic()
            key = self._keys.get(key_id, algorithm)
            is_fresh = now - self._read_at < self._times.fresh
            if (key is None or not is_fresh) and now - self._tried_at >= self._times.pause:
                self._tried_at = now
                failed = not await self._read()
        key = self._good(key_id, algorithm)
        if key is not None:
            return key
        if failed or not self._is_kept():
            raise UnavailableError
        raise unknown_key()

    def _good(self, key_id: str | None, algorithm: str) -> PyJWK | None:
        return self._keys.get(key_id, algorithm) if self._is_kept() else None

    def _is_kept(self) -> bool:
        return self._clock.monotonic() - self._read_at < self._times.kept

    async def _read(self) -> bool:
        try:
            listed = _listed(await self._fetch(await self.locate(self._fetch)))
        except UnreadableError as error:
            log.warning("the keys of %s cannot be read: %s", self._url, error)
            record("keys-unreadable", keys_of=self._url, reason=str(error))
            return False
        before, self._keys = self._keys.ids, published(each for each in listed if is_object(each))
        if before != self._keys.ids:
            record("keys-changed", keys_of=self._url, added=_named(self._keys.ids - before), removed=_named(before - self._keys.ids))
        self._read_at = self._clock.monotonic()
        log.info("%d keys were read from %s", len(self._keys), self._url)
        return True

    async def locate(self, _fetch: Fetch) -> str:
        """Say where the keys are."""
        return self._url


class DiscoveredKeys(PublishedKeys):
    """The keys of an OpenID Connect provider, found through its discovery document."""

    def __init__(self, issuer: str, times: Times | None = None, *, clock: Clock | None = None, fetch: Fetch | None = None) -> None:
        super().__init__(issuer.rstrip("/") + _DISCOVERY, times, clock=clock, fetch=fetch)
        self.issuer = issuer

    async def locate(self, fetch: Fetch) -> str:
        """Read where the keys are, in a document that must be the issuer's own."""
        document = _object(await fetch(self._url))
        if document.get("issuer") != self.issuer:
            raise UnreadableError("the document is that of another issuer")
        where = document.get("jwks_uri")
        if not isinstance(where, str):
            raise UnreadableError("the document does not say where the keys are")
        try:
            check_url(where)
        except ValueError as error:
            raise UnreadableError(str(error)) from error
        return where


def _named(ids: frozenset[str]) -> str:
    return " ".join(sorted(ids))


def check_url(url: str) -> None:
    """Refuse an address at which somebody in between could put keys of their own."""
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, TypeError) as error:
        raise ValueError(f"{url!r} is no URL") from error
    if parsed.scheme != "https" and not (parsed.scheme == "http" and _is_loopback(parsed.host)):
        raise ValueError(f"{url!r}: keys are read over https, or from this machine")


async def fetch_document(url: str) -> bytes:
    """Get a document that is not too large, soon, and from nowhere else; for one of this machine no proxy of the environment is asked."""
    elsewhere = not _is_loopback(httpx.URL(url).host)
    try:
        async with (
            asyncio.timeout(_SECONDS),
            httpx.AsyncClient(timeout=_SECONDS, trust_env=elsewhere) as client,
            client.stream("GET", url, headers={"accept-encoding": "identity"}) as answer,
        ):
            if answer.status_code != HTTPStatus.OK:
                raise UnreadableError(f"the answer is {answer.status_code}")
            if answer.headers.get("content-encoding", "identity") != "identity":
                raise UnreadableError("the answer is packed, which was not asked for")
            body = bytearray()
            async for chunk in answer.aiter_raw():
                body += chunk
                if len(body) > _LARGEST:
                    raise UnreadableError("the answer is too large")
    except (httpx.HTTPError, TimeoutError) as error:
        raise UnreadableError(type(error).__name__) from error
    return bytes(body)


def _object(text: bytes) -> dict[str, object]:
    try:
        document: object = from_json(text)
    except ValueError as error:
        raise UnreadableError("it is not JSON") from error
    if not is_object(document):
        raise UnreadableError("it is no object")
    return document


def _listed(text: bytes) -> list[object]:
    listed = _object(text).get("keys")
    if not is_list(listed):
        raise UnreadableError("it has no list of keys")
    return listed


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
