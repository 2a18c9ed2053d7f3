"""Credentials that a visitor of the page has entered: they come with each request and are never
kept.

X-A2A-Credentials: base64url of {"headers": {"Authorization": "Bearer …"}, "query": {"key": "…"}}
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass

import httpx
from pydantic_core import from_json

from a2a_contract.errors import InvalidRequestError
from a2a_contract.json_types import is_json_object
from a2a_contract.v1_0 import SecurityScheme

CREDENTIALS_HEADER = "x-a2a-credentials"
_MAX_HEADER_CHARACTERS = 32_768
_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_PROXY_HEADERS = frozenset(("forwarded", "x-real-ip"))
_PROXY_PREFIX = "x-forwarded-"
CONNECTION_HEADERS = frozenset(
    (
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "expect",
        "host",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    )
)


@dataclass(frozen=True, slots=True)
class VisitorCredentials:
    """Headers and query parameters that prove who the visitor is."""

    headers: tuple[tuple[str, str], ...] = ()
    query: tuple[tuple[str, str], ...] = ()

    @classmethod
    def parse(cls, header: str) -> VisitorCredentials:
        """Parse the header of a request; raise ``InvalidRequestError`` if it is not one."""
        if not header:
            return cls()
        try:
            document: object = from_json(
                urlsafe_b64decode(header[:_MAX_HEADER_CHARACTERS] + "=" * (-len(header) % 4))
            )
        except ValueError:
            document = None
        if not is_json_object(document):
            raise InvalidRequestError(
                f"{CREDENTIALS_HEADER}: not the base64url of a JSON object; reload the page "
                "and sign in again"
            )
        headers, query = (_read_pairs(document, name) for name in ("headers", "query"))
        for name, value in headers:
            if (
                not _TOKEN.fullmatch(name)
                or name.lower() in CONNECTION_HEADERS
                or not (value.isascii() and value.isprintable())
            ):
                raise InvalidRequestError(
                    f"{CREDENTIALS_HEADER}: {name[:40]!r} is no header for credentials; "
                    "correct it in the sign-in form"
                )
        return cls(headers, query)

    def restrict_to(self, schemes: Iterable[SecurityScheme]) -> VisitorCredentials:
        """Leave out what no security scheme names: a proxy would vouch for it, and no proxy reads
        what a page has entered.
        """
        headers, query, cookies = _list_places(schemes)
        kept = [(name, value) for name, value in self.headers if name.lower() in headers]
        for name, value in self.headers:
            pairs = split_cookies(value) if name.lower() == "cookie" else ()
            if usable := [f"{key}={text}" for key, text in pairs if key in cookies]:
                kept.append((name, "; ".join(usable)))
        return VisitorCredentials(
            tuple(kept), tuple(each for each in self.query if each[0] in query)
        )

    def build_auth(self) -> httpx.Auth | None:
        """Build what adds the credentials to a request; ``None`` without any."""
        if self.headers or self.query:
            return _VisitorAuth(self)
        return None

    @property
    def secrets(self) -> tuple[str, ...]:
        """The values that no record may show; the scheme of an ``Authorization`` is none of
        them.
        """
        values = (value for _, value in (*self.headers, *self.query))
        return tuple(value.split(" ", 1)[-1].strip() for value in values)


class _VisitorAuth(httpx.Auth):
    def __init__(self, credentials: VisitorCredentials) -> None:
        self._credentials = credentials

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Add headers and parameters."""
        request.headers.update(self._credentials.headers)
        if self._credentials.query:
            request.url = request.url.copy_merge_params(dict(self._credentials.query))
        yield request


def is_vouched_for(header: str) -> bool:
    """Tell whether a header is one that proxies write about their client."""
    return header in _PROXY_HEADERS or header.startswith(_PROXY_PREFIX)


def split_cookies(header: str) -> list[tuple[str, str]]:
    """Split a header of cookies into names and values."""
    pairs = (each.strip().partition("=") for each in header.split(";"))
    return [(name.strip(), value) for name, _, value in pairs if name.strip()]


def _list_places(schemes: Iterable[SecurityScheme]) -> tuple[set[str], set[str], set[str]]:
    """List the headers, in small letters, the query parameters and the cookies that schemes
    name.
    """
    headers = set[str]()
    query = set[str]()
    cookies = set[str]()
    places = {"header": headers, "query": query, "cookie": cookies}
    for scheme in schemes:
        if (key := scheme.api_key_security_scheme) is not None:
            name = key.name.lower() if key.location == "header" else key.name
            places.get(key.location, set[str]()).add(name)
        elif scheme.mtls_security_scheme is None:
            headers.add("authorization")
    headers = {name for name in headers if name != "cookie" and not is_vouched_for(name)}
    return headers, query, cookies


def _read_pairs(document: Mapping[str, object], name: str) -> tuple[tuple[str, str], ...]:
    members = document.get(name)
    if members is None:
        return ()
    if not is_json_object(members) or not all(isinstance(value, str) for value in members.values()):
        raise InvalidRequestError(
            f"{CREDENTIALS_HEADER}: {name}: not an object of texts; reload the page and sign "
            "in again"
        )
    return tuple((key, str(value)) for key, value in members.items())
