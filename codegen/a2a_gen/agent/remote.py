"""Reading an agent that somebody else runs: its card, and the schemas that the card names.

Whatever a card says is only data here: it is checked, and nothing but JSON is fetched.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urljoin

import httpx

from a2a_gen.agent import keywords
from a2a_gen.agent.keywords import Schema
from a2a_gen.agent.shown import USES, Remote, Served, described
from a2a_gen.problems import ProjectError
from a2a_gen.source.json_text import Json, parse

_CARDS = ("/.well-known/agent-card.json", "/.well-known/agent.json")
_LARGEST = 4_000_000


def read_remote(where: str) -> Remote:
    """Read an agent from its URL, from the URL of its card, or from a card in a file."""
    with httpx.Client(timeout=15, follow_redirects=True) as http:
        card, address = _card(where, http)
        found = described(card)
        schemas = [_fetched(skill, use, said, address, http) for skill, facts in found.items() for use, said in facts.items() if use in USES]
    return Remote(card, (*schemas, *_inline(card)))


def public(where: str) -> str:
    """Name where an agent is without the password that may stand in its URL."""
    return str(httpx.URL(where).copy_with(username=None, password=None)) if "://" in where else where


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
            card = _object(answer.content, public(url))
            if "skills" in card:
                return card, url
    raise ProjectError(f"there is no card at {public(where)}", f"tried {', '.join(map(public, tried))}; give the URL of the card itself")


def _fetched(skill: str, use: str, said: Json, address: str, http: httpx.Client) -> Served:
    url, expected = urljoin(address, keywords.text(said, "url")), keywords.text(said, "sha256")
    answer = _get(url, http)
    if answer.status_code != HTTPStatus.OK:
        raise ProjectError(f"{public(url)} answers {answer.status_code}: the {use} of {skill} has no schema", "ask whoever runs the agent")
    if expected and sha256(answer.content).hexdigest() != expected:
        raise ProjectError(
            f"{public(url)} is not the schema that the card names: its hash differs", "try again; the agent may just have been replaced"
        )
    _object(answer.content, public(url))
    return Served(skill, use, answer.content)


def _inline(card: Schema) -> Iterator[Served]:
    for each in keywords.items(card, "skills"):
        schema = keywords.members(each, "metadata").get("input_schema") if isinstance(each, dict) else None
        if isinstance(each, dict) and isinstance(schema, dict):
            yield Served(keywords.text(each, "id"), "input", f"{json.dumps(schema, indent=2, ensure_ascii=False)}\n".encode())


def _get(url: str, http: httpx.Client) -> httpx.Response:
    if not url.startswith(("https://", "http://")):
        raise ProjectError(f"{public(url)} is no address of the Web", "give a URL that begins with https:// or http://")
    try:
        with http.stream("GET", url, headers={"accept": "application/json"}) as answer:
            content = b""
            for piece in answer.iter_bytes():
                content += piece
                if len(content) > _LARGEST:
                    raise ProjectError(f"{public(url)} answers with more than {_LARGEST} bytes", "this is no card and no schema of one")
            return httpx.Response(answer.status_code, headers={"content-type": answer.headers.get("content-type", "")}, content=content)
    except httpx.HTTPError as error:
        raise ProjectError(f"{public(url)} cannot be reached: {error}", "check the address, and that the agent runs") from None


def _object(content: bytes, where: str) -> Schema:
    data, mistakes = parse(content.decode("utf-8", "replace"))
    if mistakes or not isinstance(data, dict):
        raise ProjectError(f"{where} is no JSON object", "check the address")
    return data
