"""What was seen of a remote agent when its client was made, kept beside the code: the card, the schemas, and a lock with their hashes.

client.lock.json   where the card was, and the SHA-256 of it, of every schema, by skill and use, and of every file of the package
card.json          the card
schemas/           the schemas as they were served
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path

from a2a_gen.agent import keywords
from a2a_gen.agent.shown import Remote, Served
from a2a_gen.problems import ProjectError
from a2a_gen.source.git import BaselineError
from a2a_gen.source.json_text import Json

LOCK = "client.lock.json"
CARD = "card.json"
SCHEMAS = "schemas"


def files(remote: Remote) -> dict[str, bytes]:
    """Write what was seen, by path relative to the package."""
    return {CARD: _card(remote), **{f"{SCHEMAS}/{each.file}": each.document for each in remote.schemas}}


def lock(remote: Remote, source: str, outputs: Mapping[str, bytes]) -> bytes:
    """Write the lock: where the card is, what was seen, and every file of the package as it was made."""
    hashes: dict[str, dict[str, str]] = {}
    for each in remote.schemas:
        hashes.setdefault(each.skill, {})[each.use] = _hash(each.document)
    made = {path: _hash(content) for path, content in outputs.items()}
    members = {"source": source, "card": _hash(_card(remote)), "schemas": hashes, "outputs": made}
    return f"{json.dumps(members, indent=2, sort_keys=True)}\n".encode()


def left(folder: Path) -> Mapping[str, str]:
    """Give the hashes of the files of a package as they were made; none of a package that is not there."""
    try:
        outputs = keywords.members(json.loads((folder / LOCK).read_bytes()), "outputs")
    except (OSError, ValueError):
        return {}
    return {path: each for path, each in outputs.items() if isinstance(each, str)}


def touched(folder: Path) -> Iterator[tuple[str, str]]:
    """Name the files that are not as they were made, and why."""
    for path, made in left(folder).items():
        file = folder / path
        if not file.is_file():
            yield path, "missing"
        elif _hash(file.read_bytes()) != made:
            yield path, "edited by hand"


def read(folder: Path) -> Remote:
    """Read it, or say why it cannot be compared with (``BaselineError``)."""
    try:
        lock: dict[str, Json] = json.loads((folder / LOCK).read_bytes())
        card: dict[str, Json] = json.loads(_unchanged(folder / CARD, keywords.text(lock, "card")))
        return Remote(card, tuple(_schemas(folder, lock)))
    except OSError as error:
        raise BaselineError(f"{folder} holds no client: {error.filename} cannot be read", "make it first: a2a-gen client URL -o …") from None
    except ValueError:
        raise BaselineError(f"{folder / LOCK} is no lock of a client", "make the client anew: a2a-gen client URL -o …") from None


def _card(remote: Remote) -> bytes:
    return f"{json.dumps(remote.card, indent=2, ensure_ascii=False)}\n".encode()


def _schemas(folder: Path, lock: dict[str, Json]) -> Iterator[Served]:
    for skill, uses in keywords.members(lock, "schemas").items():
        for use, digest in uses.items() if isinstance(uses, dict) else ():
            served = Served(skill, use, b"")
            yield Served(skill, use, _unchanged(folder / SCHEMAS / served.file, digest))


def _unchanged(file: Path, digest: Json) -> bytes:
    content = file.read_bytes()
    if _hash(content) != digest:
        raise ProjectError(f"{file} is not what was seen: its hash differs from that in {LOCK}", "take back the edit, or make the client anew")
    return content


def _hash(content: bytes) -> str:
    return sha256(content).hexdigest()
