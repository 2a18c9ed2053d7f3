"""Remote agents: read a card and the schemas that it names.

A card is untrusted data: it is checked, nothing but JSON is fetched, and only from origins that the
user allowed. The user may sit behind a firewall, and fetched documents are kept in files: a card
that could name any address, or an agent that could redirect to any, would read internal resources
for its author. Responses are limited in size and time.

    1.0, 0.3   an extension of the card names a URL and a hash for every schema
    mesh       the metadata of the one skill hold the schema itself
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterator
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urljoin

import httpx

from a2a_gen.agent.remote.card import USES, PublishedSchema, RemoteAgent, parse_card
from a2a_gen.agent.schemas import files as keywords
from a2a_gen.agent.schemas.files import Schema
from a2a_gen.problems import ProjectError
from a2a_gen.source.json_text import Json, parse

# --- fetching documents ---

_MAX_BYTES = 4_000_000
_TIMEOUT_SECONDS = 60
_MAX_REDIRECTS = 5
_SCHEMES = frozenset({"http", "https"})


class FetchedDocument(NamedTuple):
    """The content of an address, and the final address after redirects."""

    url: str
    status: int
    kind: str
    content: bytes


def strip_credentials(where: str) -> str:
    """Return an address without the password that its URL may hold."""
    if "://" in where:
        return str(_url(where).copy_with(username=None, password=None))
    return where


def origin(url: str) -> str:
    """Return scheme, host and port of an address."""
    read = _url(url)
    if read.scheme not in _SCHEMES or not read.netloc:
        raise ProjectError(
            f"{strip_credentials(url)!r} is not an HTTP address",
            "give a URL that begins with https:// or http://",
        )
    return f"{read.scheme}://{read.netloc.decode('ascii')}"


def join_url(base: str, text: str) -> str:
    """Resolve an address that may be relative to another."""
    try:
        return urljoin(base, text)
    except ValueError:
        raise _explain_invalid_url(text) from None


def fetch(url: str, http: httpx.Client, origins: Collection[str]) -> FetchedDocument:
    """Fetch a document from one of the allowed origins; redirects must stay within them."""
    for _ in range(_MAX_REDIRECTS):
        if origin(url) not in origins:
            raise ProjectError(
                f"{strip_credentials(url)} is not the agent's origin and not allowed",
                f"if you trust it, add --schemas-from {origin(url)}",
            )
        try:
            answer = _fetch_once(url, http)
        except httpx.HTTPError as error:
            raise ProjectError(
                f"{strip_credentials(url)} cannot be reached: {error}",
                "check the address and that the agent is running",
            ) from None
        location = answer.headers.get("location")
        if not answer.is_redirect or location is None:
            return FetchedDocument(
                url, answer.status_code, answer.headers.get("content-type", ""), answer.content
            )
        url = join_url(url, location)
    raise ProjectError(
        f"{strip_credentials(url)} redirects too often", "give the final address of the agent"
    )


def _fetch_once(url: str, http: httpx.Client) -> httpx.Response:
    end = time.monotonic() + _TIMEOUT_SECONDS
    with http.stream(
        "GET", url, headers={"accept": "application/json", "accept-encoding": "identity"}
    ) as answer:
        if answer.headers.get("content-encoding", "identity") != "identity":
            raise ProjectError(
                f"{strip_credentials(url)} responds with an unrequested content encoding",
                "report it to the operator of the agent",
            )
        content = bytearray()
        for piece in answer.iter_raw():
            content += piece
            if len(content) > _MAX_BYTES:
                raise ProjectError(
                    f"{strip_credentials(url)} responds with more than {_MAX_BYTES} bytes",
                    "a card or a schema is smaller; check the address",
                )
            if time.monotonic() > end:
                raise ProjectError(
                    f"{strip_credentials(url)} does not respond within {_TIMEOUT_SECONDS} seconds",
                    "try again later",
                )
        return httpx.Response(answer.status_code, headers=answer.headers, content=bytes(content))


def _url(text: str) -> httpx.URL:
    try:
        url = httpx.URL(text)
        # httpx parses the port and the host only when they are read, and either may be invalid.
        _ = url.host
    except (httpx.InvalidURL, ValueError):
        raise _explain_invalid_url(text) from None
    return url


def _explain_invalid_url(text: str) -> ProjectError:
    return ProjectError(
        f"{text!r} is not a valid address", "report it to the operator of the agent"
    )


# --- reading cards ---

_CARDS = ("/.well-known/agent-card.json", "/.well-known/agent.json")


def read_remote_agent(where: str, schemas_from: Collection[str] = ()) -> RemoteAgent:
    """Read an agent from its URL, the URL of its card, or a card in a file; schemas come from the
    card's origin or the given ones.
    """
    with httpx.Client(timeout=15) as http:
        card, address = _card(where, http)
        origins = set(map(origin, schemas_from))
        if address:
            origins.add(origin(address))
        known = dict(RemoteAgent(card, ()).skills)
        schemas: list[PublishedSchema] = []
        for skill, facts in parse_card(card).items():
            for use, said in facts.items():
                if skill in known and use in USES:
                    url = join_url(address, keywords.text(said, "url"))
                    schemas.append(_fetch_schema((skill, use), said, fetch(url, http, origins)))
    return RemoteAgent(card, (*schemas, *_inline(card)))


def _card(where: str, http: httpx.Client) -> tuple[Schema, str]:
    if "://" not in where:
        try:
            content = Path(where).read_bytes()
        except OSError as error:
            raise ProjectError(
                f"{where} cannot be read: {(error.strerror or '').lower()}",
                "give the file of a card, or the URL of an agent",
            ) from None
        return _object(content, where), ""
    tried = [where, *(where.rstrip("/") + path for path in _CARDS)]
    origins = {origin(where), origin(where).replace("http://", "https://")}
    for url in tried:
        answer = fetch(url, http, origins)
        if answer.status == HTTPStatus.OK and "json" in answer.kind:
            card = _object(answer.content, strip_credentials(url))
            if "skills" in card:
                return card, answer.url
    raise ProjectError(
        f"{strip_credentials(where)} has no agent card",
        f"tried {', '.join(map(strip_credentials, tried))}; give the URL of the card itself",
    )


def _fetch_schema(
    key: tuple[str, str], reference: Json, response: FetchedDocument
) -> PublishedSchema:
    skill, use = key
    expected = keywords.text(reference, "sha256")
    if response.status != HTTPStatus.OK:
        raise ProjectError(
            (
                f"{strip_credentials(response.url)} answers {response.status}: the {use} of "
                f"{skill!r} has no schema"
            ),
            "report it to the operator of the agent",
        )
    if expected and sha256(response.content).hexdigest() != expected:
        raise ProjectError(
            f"{strip_credentials(response.url)} does not have the hash that the card names",
            "try again; the agent may have been redeployed meanwhile",
        )
    _object(response.content, strip_credentials(response.url))
    return PublishedSchema(skill, use, response.content)


def _inline(card: Schema) -> Iterator[PublishedSchema]:
    for skill, facts in RemoteAgent(card, ()).skills:
        schema = keywords.members(facts, "metadata").get("input_schema")
        if isinstance(schema, dict):
            yield PublishedSchema(
                skill, "input", f"{json.dumps(schema, indent=2, ensure_ascii=False)}\n".encode()
            )


def _object(content: bytes, where: str) -> Schema:
    try:
        data, mistakes = parse(content.decode("utf-8"))
    except UnicodeDecodeError:
        raise ProjectError(f"{where} is not UTF-8", "check the address") from None
    for mistake in mistakes:
        raise ProjectError(
            (
                f"{where}{f':{mistake.line}' if mistake.line else ''} is not valid JSON: "
                f"{mistake.text}"
            ),
            "check the address",
        )
    if not isinstance(data, dict):
        raise ProjectError(f"{where} is not a JSON object", "check the address")
    return data
