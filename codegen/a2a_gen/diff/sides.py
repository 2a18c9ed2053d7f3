"""One side of a comparison with all that is known about it: files, the contract that they make, the agent that they describe."""

from __future__ import annotations

import json
import posixpath
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from a2a_gen.agent.remote import Remote
from a2a_gen.agent.remote_client import CARD, SCHEMAS
from a2a_gen.diff.agent import Agent, from_card, from_project
from a2a_gen.diff.closure import reached
from a2a_gen.diff.schema_node import Node, Spot, Tree, node
from a2a_gen.diff.usage import Role, Roles, Root, operation_roots, spread
from a2a_gen.ir.build import assemble, family_files
from a2a_gen.ir.model import Contract
from a2a_gen.output.lock import NAME as LOCK
from a2a_gen.problems import ProjectError
from a2a_gen.source.documents import Document, documents, folder_blobs, is_read, readable
from a2a_gen.source.git import BaselineError, find_repository
from a2a_gen.source.json_text import Json, parse, unescaped
from a2a_gen.source.project import TomlDocument, find_root

TABLES = frozenset({"dialects.json", "errors.json", "lifecycle.json", "operations.json"})


@dataclass(frozen=True, eq=False)
class Side:
    """What was read from one place; ``said`` is how people call it."""

    documents: Mapping[str, Document]
    said: str
    shown: str = ""
    is_plain: bool = False
    agent: Agent | None = None

    def says_the_same(self, other: Side) -> bool:
        """Whether both have the same files, to the character."""
        paths = self.documents.keys()
        return paths == other.documents.keys() and all(self.documents[path].text == other.documents[path].text for path in paths)

    @property
    def is_contract(self) -> bool:
        """Whether the files make a contract with operations, and are not just schemas."""
        return not self.is_plain and self.documents.keys() >= TABLES

    @cached_property
    def contract(self) -> Contract | None:
        """The contract as the generator understands it, as far as it does."""
        return assemble(self.documents)[0] if self.is_contract else None

    @cached_property
    def tree(self) -> Tree:
        """The files that hold schemas, to be compared."""
        if self.agent is not None and not self.agent.skills_have_schemas:
            return Tree({}, self.shown, self.documents)
        return Tree(family_files(self.documents) if self.is_contract else self.documents, self.shown, self.documents)

    def roles(self, otherwise: frozenset[Role]) -> Roles:
        """Say who uses which definition."""
        if self.contract is not None:
            return spread(self.tree, operation_roots(self.tree, self.contract))
        if self.agent is not None:
            return spread(self.tree, self._skill_roots(self.agent))
        return Roles(otherwise=otherwise)

    def _skill_roots(self, agent: Agent) -> list[Root]:
        spots = [(skill.id, use, self._spot(address)) for skill in agent.skills.values() for use, address in skill.schemas.items()]
        return [Root(spot.at, Role.WRITTEN if use == "output" else Role.READ, identity) for identity, use, spot in spots if spot]

    def definition(self, dialect: str, name: str) -> Spot | None:
        """Find a type of a dialect."""
        return next((spot for at, spot in self.tree.definitions.items() if spot.name == name and at[0].rpartition("/")[0] == dialect), None)

    def node(self, address: str | None) -> Node | None:
        """Find the schema that an address means, such as ``schemas/trip.json#/$defs/Trip``."""
        spot = self._spot(address) if address else None
        return node(self.tree, [spot], at=spot) if spot else None

    def _spot(self, address: str) -> Spot | None:
        file, _, pointer = address.partition("#")
        document = self.documents.get(posixpath.normpath(file))
        root = Spot(document.path, "", document.data) if document else None
        return root.below(*(unescaped(step) for step in pointer.split("/")[1:])) if root else None


# Where sides come from: a folder, a file, a commit, a lock, or the card of an agent that answers somewhere.
#
# ``a2a-gen.lock`` holds hashes and no schemas. As a baseline it means the files that it was committed with: those of the last commit that wrote it.
#

_PROJECT = "a2a.toml"
_LARGEST_CARD = 10_000_000


@dataclass(frozen=True, slots=True)
class Home:
    """Where the new side is, so that a ref can be asked for the same place: its folder, and whether its files are just schemas."""

    folder: Path
    is_plain: bool = False


def here(path: Path, *, is_plain: bool = False) -> Side:
    """Read a folder, a card or a schema from the disk."""
    if path.is_dir():
        return side(folder_blobs(path), said=str(path), shown=_shown(path), is_plain=is_plain)
    if path.is_file():
        return side({path.name: path.read_bytes()}, said=str(path), shown=_shown(path.parent), is_plain=is_plain)
    raise BaselineError(f"there is no {path}", "name a folder of schemas, a card, a ref of Git or an address")


def against(word: str, home: Home) -> tuple[Side, ...]:
    """Read a baseline; a pattern of tags means every tag that it fits, the newest last."""
    if word.startswith(("http://", "https://")):
        return (_fetched(word),)
    path = Path(word)
    if path.name == LOCK:
        return (_locked(path, home),)
    if path.exists():
        return (here(path, is_plain=home.is_plain),)
    ref, colon, inside = word.partition(":")
    repository = find_repository(home.folder)
    if colon:
        return (_commit(ref, Home(repository.top / inside, home.is_plain)),)
    if any(character in word for character in "*?["):
        tags = repository.tags(word)
        if not tags:
            raise BaselineError(f"no tag fits {word}", "git fetch --tags")
        return tuple(_commit(tag, home) for tag in tags)
    return (_commit(word, home),)


def side(blobs: Mapping[str, bytes], *, said: str, shown: str = "", is_plain: bool = False) -> Side:
    """Make a side of files: a contract, an agent's project, a card, or just schemas."""
    before = f"{shown}/" if shown else ""
    if _PROJECT in blobs and not is_plain:
        agent = from_project(_PROJECT, _toml(blobs[_PROJECT], before + _PROJECT))
        used = reached((address for skill in agent.skills.values() for address in skill.schemas.values()), *readable(blobs, shown=before))
        return Side({**used, _PROJECT: TomlDocument(_PROJECT, blobs[_PROJECT].decode("utf-8"), {})}, said, shown, agent=agent)
    found: dict[str, Document] = documents(blobs, shown=before)
    if len(found) == 1 and not is_plain:
        path, document = next(iter(found.items()))
        if isinstance(document.data, dict) and isinstance(document.data.get("skills"), list):
            return Side(found, said, shown, agent=from_card(path, document.data))
    return Side(found, said, shown, is_plain=is_plain or not found.keys() >= TABLES)


def _commit(ref: str, home: Home) -> Side:
    repository = find_repository(home.folder)
    commit = repository.commit(ref)
    folder = home.folder.resolve().relative_to(repository.top.resolve()).as_posix()
    return side(repository.files(commit, folder, is_read), said=ref, shown=_shown(home.folder), is_plain=home.is_plain)


def _locked(path: Path, home: Home) -> Side:
    """Find the files that a lock describes: what is committed beside it, since the lock itself only holds their hashes."""
    if not path.is_file():
        raise BaselineError(f"there is no {path}", "a2a-gen build writes it; commit it with the contract")
    repository = find_repository(path.absolute().parent)
    name = path.resolve().relative_to(repository.top.resolve()).as_posix()
    commit = repository.last_change(name)
    if not commit:
        raise BaselineError(f"{path} holds only hashes, and no commit holds it", "commit it with the contract, or name a ref, a folder or a card")
    return _commit(commit, home)


def _fetched(address: str) -> Side:
    """Get a card from the agent itself."""
    import httpx  # noqa: PLC0415 - takes longer to import than most comparisons take

    urls = [address] if address.endswith(".json") else [f"{address.rstrip('/')}/.well-known/{name}" for name in ("agent-card.json", "agent.json")]
    said = ""
    for url in urls:
        try:
            answer = httpx.get(url, timeout=10, follow_redirects=False)
        except httpx.HTTPError as error:
            said = str(error) or type(error).__name__
            continue
        if answer.is_success and len(answer.content) < _LARGEST_CARD:
            return _card(url, answer.content)
        said = f"status {answer.status_code}"
    raise BaselineError(f"there is no card at {address}: {said}", f"start the agent, or name its card itself: {urls[0]}")


def _card(url: str, content: bytes) -> Side:
    found = side({"agent-card.json": content}, said=url)
    if found.agent is None:
        raise BaselineError(f"what {url} answers is no card", "name the address of an agent's card")
    return found


def _toml(blob: bytes, name: str) -> dict[str, Json]:
    try:
        data, _ = parse(json.dumps(tomllib.loads(blob.decode("utf-8")), default=str))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ProjectError(f"{name} is not TOML: {error}", "correct the text at this place") from None
    return data if isinstance(data, dict) else {}


def _shown(folder: Path) -> str:
    """Name a folder as every other command does: from the project that one is in, else from where one is."""
    for base in (find_root(Path.cwd()) or Path.cwd(), Path.cwd()):
        if folder.resolve().is_relative_to(base.resolve()):
            shown = folder.resolve().relative_to(base.resolve()).as_posix()
            return "" if shown == "." else shown
    return folder.as_posix()


# An agent that somebody else runs as one side: what a client has seen of it, or what it shows now.
#
# The files are those of the package that `a2a-gen client` makes of it, so a place is where the change will be once the client is made anew. A skill
# without a schema takes and gives text, as its client does. Where the agent answers is not compared: a client is told when it is made.
#

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
