"""Reading an agent that somebody else runs: its card, and the schemas that the card names.

Whatever a card says is only data here: it is checked, and nothing but JSON is fetched, from nowhere but where the user has said.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path

import httpx

from a2a_gen.agent import keywords, web
from a2a_gen.agent.keywords import Schema
from a2a_gen.agent.shown import USES, Remote, Served, described
from a2a_gen.agent.web import public
from a2a_gen.problems import ProjectError
from a2a_gen.source.json_text import Json, parse

_CARDS = ("/.well-known/agent-card.json", "/.well-known/agent.json")


def read_remote(where: str, schemas_from: Collection[str] = ()) -> Remote:
    """Read an agent from its URL, from the URL of its card, or from a card in a file; schemas come from the origin of the card or those named."""
    with httpx.Client(timeout=15) as http:
        card, address = _card(where, http)
        origins = {*map(web.origin, schemas_from), *([web.origin(address)] if address else [])}
        schemas = [
            _fetched((skill, use), said, web.get(web.joined(address, keywords.text(said, "url")), http, origins))
            for skill, facts in described(card).items()
            if skill in dict(Remote(card, ()).skills)
            for use, said in facts.items()
            if use in USES
        ]
    return Remote(card, (*schemas, *_inline(card)))


def _card(where: str, http: httpx.Client) -> tuple[Schema, str]:
    if "://" not in where:
        try:
            content = Path(where).read_bytes()
        except OSError as error:
            raise ProjectError(f"{where} cannot be read: {(error.strerror or '').lower()}", "name a card, or the URL of an agent") from None
        return _object(content, where), ""
    tried = [where, *(where.rstrip("/") + path for path in _CARDS)]
    origins = {web.origin(where), web.origin(where).replace("http://", "https://")}
    for url in tried:
        answer = web.get(url, http, origins)
        if answer.status == HTTPStatus.OK and "json" in answer.kind:
            card = _object(answer.content, public(url))
            if "skills" in card:
                return card, answer.url
    raise ProjectError(f"there is no card at {public(where)}", f"tried {', '.join(map(public, tried))}; give the URL of the card itself")


def _fetched(key: tuple[str, str], said: Json, answer: web.Answer) -> Served:
    skill, use = key
    expected = keywords.text(said, "sha256")
    if answer.status != HTTPStatus.OK:
        raise ProjectError(f"{public(answer.url)} answers {answer.status}: the {use} of {skill!r} has no schema", "ask whoever runs the agent")
    if expected and sha256(answer.content).hexdigest() != expected:
        raise ProjectError(
            f"{public(answer.url)} is not the schema that the card names: its hash differs", "try again; the agent may just have been replaced"
        )
    _object(answer.content, public(answer.url))
    return Served(skill, use, answer.content)


def _inline(card: Schema) -> Iterator[Served]:
    for skill, facts in Remote(card, ()).skills:
        schema = keywords.members(facts, "metadata").get("input_schema")
        if isinstance(schema, dict):
            yield Served(skill, "input", f"{json.dumps(schema, indent=2, ensure_ascii=False)}\n".encode())


def _object(content: bytes, where: str) -> Schema:
    try:
        data, mistakes = parse(content.decode("utf-8"))
    except UnicodeDecodeError:
        raise ProjectError(f"{where} is not UTF-8", "check the address") from None
    for mistake in mistakes:
        raise ProjectError(f"{where}{f':{mistake.line}' if mistake.line else ''} is no JSON to work with: {mistake.text}", "check the address")
    if not isinstance(data, dict):
        raise ProjectError(f"{where} is no JSON object", "check the address")
    return data
