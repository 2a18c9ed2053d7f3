"""An agent that somebody else runs, as its card shows it: who it is, its skills, and the schemas that it serves.

    1.0, 0.3   the extension that names a URL and a hash for every schema
    mesh       the schema itself, in the metadata of the one skill

Whatever a card says is only data here: it is checked, and nothing but JSON is fetched.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urljoin

import httpx

from a2a_gen.agent import keywords
from a2a_gen.agent.keywords import Schema
from a2a_gen.problems import ProjectError
from a2a_gen.source.json_text import Json, parse

EXTENSION = "urn:a2a-gen:extension:skill-schemas:v1"
_CARDS = ("/.well-known/agent-card.json", "/.well-known/agent.json")
_USES = ("input", "output")
_LARGEST = 4_000_000


@dataclass(frozen=True, slots=True)
class Served:
    """A schema as an agent serves it."""

    skill: str
    use: str
    document: bytes

    @property
    def file(self) -> str:
        """Name the file that it is kept in."""
        return f"{self.skill}.{self.use}.json"

    @property
    def data(self) -> Schema:
        """The schema."""
        data, _ = parse(self.document.decode("utf-8"))
        return data if isinstance(data, dict) else {}


@dataclass(frozen=True, slots=True)
class Remote:
    """An agent somewhere else."""

    card: Schema
    schemas: tuple[Served, ...]
    streaming: frozenset[str]

    @property
    def skills(self) -> Iterator[tuple[str, Schema]]:
        """List the skills by their ids."""
        for each in keywords.items(self.card, "skills"):
            if isinstance(each, dict) and keywords.text(each, "id"):
                yield keywords.text(each, "id"), each


def read_remote(where: str) -> Remote:
    """Read an agent from its URL, from the URL of its card, or from a card in a file."""
    with httpx.Client(timeout=15, follow_redirects=True) as http:
        card, address = _card(where, http)
        described = _described(card)
        schemas = [_fetched(skill, use, said, address, http) for skill, facts in described.items() for use, said in facts.items() if use in _USES]
    streaming = frozenset(skill for skill, facts in described.items() if facts.get("streaming") is True)
    return Remote(card, (*schemas, *_inline(card)), streaming)


def _card(where: str, http: httpx.Client) -> tuple[Schema, str]:
    if "://" not in where:
        try:
            content = Path(where).read_bytes()
        except OSError as error:
            raise ProjectError(f"{where} cannot be read: {(error.strerror or '').lower()}", "name a card, or the URL of an agent") from None
        return _object(content, where), ""
    tried = [where, *(where.rstrip("/") + path for path in _CARDS)]
    for url in tried:
        answer = _get(url, http)
        if answer.status_code == HTTPStatus.OK and "json" in answer.headers.get("content-type", ""):
            card = _object(answer.content, url)
            if "skills" in card:
                return card, url
    raise ProjectError(f"there is no card at {where}", f"tried {', '.join(tried)}; give the URL of the card itself")


def _described(card: Schema) -> Mapping[str, Schema]:
    extensions = keywords.items(keywords.members(card, "capabilities"), "extensions")
    for each in extensions:
        if isinstance(each, dict) and each.get("uri") == EXTENSION:
            skills = keywords.members(keywords.members(each, "params"), "skills")
            return {skill: facts for skill, facts in skills.items() if isinstance(facts, dict)}
    return {}


def _fetched(skill: str, use: str, said: Json, address: str, http: httpx.Client) -> Served:
    url, expected = urljoin(address, keywords.text(said, "url")), keywords.text(said, "sha256")
    answer = _get(url, http)
    if answer.status_code != HTTPStatus.OK:
        raise ProjectError(f"{url} answers {answer.status_code}: the {use} of {skill} has no schema", "ask whoever runs the agent")
    if expected and sha256(answer.content).hexdigest() != expected:
        raise ProjectError(f"{url} is not the schema that the card names: its hash differs", "try again; the agent may just have been replaced")
    _object(answer.content, url)
    return Served(skill, use, answer.content)


def _inline(card: Schema) -> Iterator[Served]:
    for each in keywords.items(card, "skills"):
        schema = keywords.members(each, "metadata").get("input_schema") if isinstance(each, dict) else None
        if isinstance(each, dict) and isinstance(schema, dict):
            yield Served(keywords.text(each, "id"), "input", f"{json.dumps(schema, indent=2, ensure_ascii=False)}\n".encode())


def _get(url: str, http: httpx.Client) -> httpx.Response:
    if not url.startswith(("https://", "http://")):
        raise ProjectError(f"{url} is no address of the Web", "give a URL that begins with https:// or http://")
    try:
        with http.stream("GET", url, headers={"accept": "application/json"}) as answer:
            content = b""
            for piece in answer.iter_bytes():
                content += piece
                if len(content) > _LARGEST:
                    raise ProjectError(f"{url} answers with more than {_LARGEST} bytes", "this is no card and no schema of one")
            return httpx.Response(answer.status_code, headers={"content-type": answer.headers.get("content-type", "")}, content=content)
    except httpx.HTTPError as error:
        raise ProjectError(f"{url} cannot be reached: {error}", "check the address, and that the agent runs") from None


def _object(content: bytes, where: str) -> Schema:
    data, mistakes = parse(content.decode("utf-8", "replace"))
    if mistakes or not isinstance(data, dict):
        raise ProjectError(f"{where} is no JSON object", "check the address")
    return data
