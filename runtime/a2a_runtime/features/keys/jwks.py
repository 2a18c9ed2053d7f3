"""Keys that an issuer publishes over HTTP, with a cache.

    younger than 5 minutes    the cached keys are used; no request waits
    older                     the keys are fetched again; if that fails,
                              the cached ones are used for up to an hour
    unknown key id            the keys are fetched again, at most every 10 seconds:
                              any client can invent key ids

Concurrent refreshes share one request.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import TypeAlias

from pydantic_core import from_json

from a2a_runtime.base.importing import explain_missing

with explain_missing("a2a_runtime.auth", "auth"):
    import httpx
    from jwt import PyJWK

from a2a_contract.errors import UnavailableError
from a2a_contract.json_types import is_json_object
from a2a_runtime.base.clock import Clock, SystemClock
from a2a_runtime.base.logs import audit
from a2a_runtime.features.keys.verification import KeySet, UnknownKeyError, parse_jwks
from a2a_runtime.net.bounded import read_bounded
from a2a_runtime.net.target import is_loopback

log = logging.getLogger(__name__)

FetchDocument: TypeAlias = Callable[[str], Awaitable[bytes]]
"""Fetches a URL, or raises ``DocumentFetchError``."""

_FETCH_TIMEOUT = 5.0


class DocumentFetchError(Exception):
    """A document of an issuer could not be fetched, or has an unexpected content."""


@dataclass(frozen=True, slots=True)
class KeyCachePolicy:
    """Ages of cached keys, in seconds."""

    fresh_seconds: float = 300.0
    max_age_seconds: float = 3600.0
    min_refresh_interval: float = 10.0


class JwksKeys:
    """The keys of a JWKS document (RFC 7517)."""

    def __init__(
        self,
        url: str,
        policy: KeyCachePolicy | None = None,
        *,
        clock: Clock | None = None,
        fetch: FetchDocument | None = None,
    ) -> None:
        self._url = url
        self._policy = policy or KeyCachePolicy()
        self._clock = clock or SystemClock()
        self._fetch = fetch or fetch_document
        self._keys = KeySet()
        self._refreshed_at = self._attempted_at = float("-inf")
        self._refresh_lock = asyncio.Lock()
        check_key_url(url)

    def find(self, key_id: str | None, algorithm: str) -> PyJWK | Awaitable[PyJWK]:
        """Return a fresh key at once, or after a refresh."""
        key = self._keys.get(key_id, algorithm)
        if key is not None and self._is_younger_than(self._policy.fresh_seconds):
            return key
        return self._find_after_refresh(key_id, algorithm)

    async def _find_after_refresh(self, key_id: str | None, algorithm: str) -> PyJWK:
        if self._refresh_lock.locked() and (key := self._get_usable(key_id, algorithm)) is not None:
            return key  # another request is refreshing already
        has_failed = False
        async with self._refresh_lock:
            now = self._clock.monotonic()
            is_needed = self._keys.get(key_id, algorithm) is None or not self._is_younger_than(
                self._policy.fresh_seconds
            )
            if is_needed and now - self._attempted_at >= self._policy.min_refresh_interval:
                self._attempted_at = now
                has_failed = not await self._refresh()
        key = self._get_usable(key_id, algorithm)
        if key is not None:
            return key
        if has_failed or not self._is_younger_than(self._policy.max_age_seconds):
            raise UnavailableError
        raise UnknownKeyError

    def _get_usable(self, key_id: str | None, algorithm: str) -> PyJWK | None:
        if self._is_younger_than(self._policy.max_age_seconds):
            return self._keys.get(key_id, algorithm)
        return None

    def _is_younger_than(self, seconds: float) -> bool:
        return self._clock.monotonic() - self._refreshed_at < seconds

    async def _refresh(self) -> bool:
        try:
            keys = parse_jwks(await self._fetch(await self._locate()))
        except (DocumentFetchError, ValueError) as error:
            log.warning("jwks: refresh from %s failed: %s", self._url, error)
            audit("keys-unreadable", keys_of=self._url, reason=str(error))
            return False
        before = self._keys.ids
        self._keys = keys
        if before != keys.ids:
            added, removed = (
                " ".join(sorted(ids)) for ids in (keys.ids - before, before - keys.ids)
            )
            audit("keys-changed", keys_of=self._url, added=added, removed=removed)
        self._refreshed_at = self._clock.monotonic()
        log.info("jwks: %d keys fetched from %s", len(keys), self._url)
        return True

    async def _locate(self) -> str:
        return self._url


class OidcKeys(JwksKeys):
    """The keys of an OpenID Connect provider, whose discovery document names the JWKS document."""

    def __init__(
        self,
        issuer: str,
        policy: KeyCachePolicy | None = None,
        *,
        clock: Clock | None = None,
        fetch: FetchDocument | None = None,
    ) -> None:
        super().__init__(discovery_url(issuer), policy, clock=clock, fetch=fetch)
        self.issuer = issuer

    async def _locate(self) -> str:
        document: object = from_json(await self._fetch(self._url))
        if not is_json_object(document) or document.get("issuer") != self.issuer:
            raise DocumentFetchError("the discovery document belongs to another issuer")
        url = document.get("jwks_uri")
        if not isinstance(url, str):
            raise DocumentFetchError("the discovery document has no jwks_uri")
        check_key_url(url)
        return url


def discovery_url(issuer: str) -> str:
    """Return the URL of a provider's discovery document."""
    return issuer.rstrip("/") + "/.well-known/openid-configuration"


def check_key_url(url: str) -> None:
    """Raise ``ValueError`` for a URL at which a third party could replace the keys."""
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, TypeError) as error:
        raise ValueError(f"{url!r}: not a URL") from error
    if parsed.scheme != "https" and not (parsed.scheme == "http" and is_loopback(parsed.host)):
        raise ValueError(f"{url!r}: keys need https; http is allowed for this machine only")


async def fetch_document(url: str) -> bytes:
    """Fetch a document of at most 1 MiB, without redirects; proxies and netrc of the environment
    are not used for this machine.
    """
    is_remote = not is_loopback(httpx.URL(url).host)
    try:
        async with (
            asyncio.timeout(_FETCH_TIMEOUT),
            httpx.AsyncClient(timeout=_FETCH_TIMEOUT, trust_env=is_remote) as client,
            client.stream("GET", url, headers={"accept-encoding": "identity"}) as response,
        ):
            if response.status_code != HTTPStatus.OK:
                raise DocumentFetchError(f"the response has status {response.status_code}")
            return await read_bounded(response)
    except httpx.DecodingError as error:
        raise DocumentFetchError(str(error)) from error
    except (httpx.HTTPError, TimeoutError) as error:
        raise DocumentFetchError(type(error).__name__) from error
