"""An agent that somebody else runs as one side: what a client has seen of it, or what it shows now.

The files are those of the package that `a2a-gen client` makes of it, so a place is where the change will be once the client is made anew. A skill
without a schema takes and gives text, as its client does. Where the agent answers is not compared: a client is told when it is made.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from a2a_gen.agent.seen import CARD, SCHEMAS
from a2a_gen.agent.shown import Remote
from a2a_gen.diff.agent import Agent, from_card
from a2a_gen.diff.side import Side
from a2a_gen.source.documents import Document
from a2a_gen.source.json_text import Json, parse

_TEXT = '{"type": "string"}'
_ADDRESS = "its address"


def side_of(remote: Remote, said: str, other: Remote) -> Side:
    """Make a side of an agent that somebody else runs, to be compared with what was seen of it at another time."""
    served = {(each.skill, each.use): (each.file, each.document.decode("utf-8")) for each in remote.schemas}
    texts = {(each.skill, each.use): (each.file, _TEXT) for each in other.schemas if each.skill in dict(remote.skills)}
    card: dict[str, Json] = {**remote.card}
    documents = {CARD: Document(CARD, json.dumps(card, indent=2, ensure_ascii=False), {})}
    places: dict[str, dict[str, str]] = {}
    for (skill, use), (file, text) in {**texts, **served}.items():
        path = f"{SCHEMAS}/{file}"
        documents[path] = Document(path, text, parse(text)[0])
        places.setdefault(skill, {})[use] = path
    return Side(documents, said, agent=_with_schemas(from_card(CARD, card), places))


def _with_schemas(agent: Agent, places: Mapping[str, Mapping[str, str]]) -> Agent:
    skills = {name: replace(skill, schemas=places.get(name, {})) for name, skill in agent.skills.items()}
    bindings = frozenset(each for all_of_one in agent.surfaces.values() for each in all_of_one)
    return replace(agent, skills=skills, surfaces={_ADDRESS: bindings})
