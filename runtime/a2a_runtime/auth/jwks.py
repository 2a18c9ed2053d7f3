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
from a2a_contract.json_types import is_json_array, is_json_object
from a2a_runtime.auth.keys import KeySet, keys_from_jwks, unknown_key
from a2a_runtime.clock import Clock, SystemClock
from a2a_runtime.logs import audit

log = logging.getLogger(__name__)

FetchDocument: TypeAlias = Callable[[str], Awaitable[bytes]]
"""Gets a document, or raises ``UnreadableError``."""

_DISCOVERY = "/.well-known/openid-configuration"
_MAX_DOCUMENT_BYTES = 1024 * 1024
_FETCH_TIMEOUT = 5.0


class DocumentFetchError(Exception):
    """The document of an issuer cannot be had, or is not what it should be."""


@dataclass(frozen=True, slots=True)
class KeyCachePolicy:
    """How long keys are good, in seconds."""

    fresh_seconds: float = 300.0
    max_age_seconds: float = 3600.0
    min_refresh_interval: float = 10.0


class JwksKeys:
    """The keys at a URL."""

    def __init__(self, url: str, policy: KeyCachePolicy | None = None, *, clock: Clock | None = None, fetch: FetchDocument | None = None) -> None:
        self._url, self._policy, self._clock = url, policy or KeyCachePolicy(), clock or SystemClock()
        self._fetch = fetch or fetch_document
        self._keys = KeySet()
        self._refreshed_at = self._attempted_at = float("-inf")
        self._refresh_lock = asyncio.Lock()
        check_key_url(url)

    def find(self, key_id: str | None, algorithm: str) -> PyJWK | Awaitable[PyJWK]:
        """Find a key at once, or go and look."""
        key = self._keys.get(key_id, algorithm)
        fresh = self._clock.monotonic() - self._refreshed_at < self._policy.fresh_seconds
        return key if key is not None and fresh else self._find_after_refresh(key_id, algorithm)

    async def _find_after_refresh(self, key_id: str | None, algorithm: str) -> PyJWK:
        if self._refresh_lock.locked() and (key := self._get_usable(key_id, algorithm)) is not None:
            return key  # somebody is looking already
        failed = False
        async with self._refresh_lock:
            now = self._clock.monotonic()
            key = self._keys.get(key_id, algorithm)
            is_fresh = now - self._refreshed_at < self._policy.fresh_seconds
            if (key is None or not is_fresh) and now - self._attempted_at >= self._policy.min_refresh_interval:
                self._attempted_at = now
                failed = not await self._refresh()
        key = self._get_usable(key_id, algorithm)
        if key is not None:
            return key
        if failed or not self._is_usable():
            raise UnavailableError
        raise unknown_key()

    def _get_usable(self, key_id: str | None, algorithm: str) -> PyJWK | None:
        return self._keys.get(key_id, algorithm) if self._is_usable() else None

    def _is_usable(self) -> bool:
        return self._clock.monotonic() - self._refreshed_at < self._policy.max_age_seconds

    async def _refresh(self) -> bool:
        try:
            listed = _parse_key_list(await self._fetch(await self.locate(self._fetch)))
        except DocumentFetchError as error:
            log.warning("the keys of %s cannot be read: %s", self._url, error)
            audit("keys-unreadable", keys_of=self._url, reason=str(error))
            return False
        before, self._keys = self._keys.ids, keys_from_jwks(each for each in listed if is_json_object(each))
        if before != self._keys.ids:
            audit("keys-changed", keys_of=self._url, added=_join_ids(self._keys.ids - before), removed=_join_ids(before - self._keys.ids))
        self._refreshed_at = self._clock.monotonic()
        log.info("%d keys were read from %s", len(self._keys), self._url)
        return True

    async def locate(self, _fetch: FetchDocument) -> str:
        """Say where the keys are."""
        return self._url


class OidcKeys(JwksKeys):
    """The keys of an OpenID Connect provider, found through its discovery document."""

    def __init__(self, issuer: str, policy: KeyCachePolicy | None = None, *, clock: Clock | None = None, fetch: FetchDocument | None = None) -> None:
        super().__init__(issuer.rstrip("/") + _DISCOVERY, policy, clock=clock, fetch=fetch)
        self.issuer = issuer

    async def locate(self, fetch: FetchDocument) -> str:
        """Read where the keys are, in a document that must be the issuer's own."""
        document = _parse_object(await fetch(self._url))
        if document.get("issuer") != self.issuer:
            raise DocumentFetchError("the document is that of another issuer")
        where = document.get("jwks_uri")
        if not isinstance(where, str):
            raise DocumentFetchError("the document does not say where the keys are")
        try:
            check_key_url(where)
        except ValueError as error:
            raise DocumentFetchError(str(error)) from error
        return where


def _join_ids(ids: frozenset[str]) -> str:
    return " ".join(sorted(ids))


def check_key_url(url: str) -> None:
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
            asyncio.timeout(_FETCH_TIMEOUT),
            httpx.AsyncClient(timeout=_FETCH_TIMEOUT, trust_env=elsewhere) as client,
            client.stream("GET", url, headers={"accept-encoding": "identity"}) as answer,
        ):
            if answer.status_code != HTTPStatus.OK:
                raise DocumentFetchError(f"the answer is {answer.status_code}")
            if answer.headers.get("content-encoding", "identity") != "identity":
                raise DocumentFetchError("the answer is packed, which was not asked for")
            body = bytearray()
            async for chunk in answer.aiter_raw():
                body += chunk
                if len(body) > _MAX_DOCUMENT_BYTES:
                    raise DocumentFetchError("the answer is too large")
    except (httpx.HTTPError, TimeoutError) as error:
        raise DocumentFetchError(type(error).__name__) from error
    return bytes(body)


def _parse_object(text: bytes) -> dict[str, object]:
    try:
        document: object = from_json(text)
    except ValueError as error:
        raise DocumentFetchError("it is not JSON") from error
    if not is_json_object(document):
        raise DocumentFetchError("it is no object")
    return document


def _parse_key_list(text: bytes) -> list[object]:
    listed = _parse_object(text).get("keys")
    if not is_json_array(listed):
        raise DocumentFetchError("it has no list of keys")
    return listed


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
