"""One side of a comparison with all that is known about it: files, the contract that they make, the agent that they describe."""

from __future__ import annotations

import json
import posixpath
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from a2a_gen.agent.remote import RemoteAgent
from a2a_gen.agent.remote_client import CARD, SCHEMAS
from a2a_gen.diff.agent import AgentDescription, agent_from_card, agent_from_project
from a2a_gen.diff.closure import select_reachable
from a2a_gen.diff.schema_node import SchemaLocation, SchemaNode, SchemaTree, build_node
from a2a_gen.diff.usage import Usage, UsageMap, UsageRoot, find_operation_roots, trace_usage
from a2a_gen.ir.build import assemble, family_files
from a2a_gen.ir.model import Contract
from a2a_gen.output.lock import LOCK_FILE as LOCK
from a2a_gen.problems import ProjectError
from a2a_gen.source.documents import Document, is_contract_file, parse_documents, parse_readable_documents, read_folder
from a2a_gen.source.git import BaselineError, find_repository
from a2a_gen.source.json_text import Json, parse, unescape_key
from a2a_gen.source.project import TomlDocument, find_root

TABLE_FILES = frozenset({"dialects.json", "errors.json", "lifecycle.json", "operations.json"})


@dataclass(frozen=True, eq=False)
class ContractSide:
    """What was read from one place; ``said`` is how people call it."""

    documents: Mapping[str, Document]
    label: str
    display_prefix: str = ""
    is_plain: bool = False
    agent: AgentDescription | None = None

    def has_same_text(self, other: ContractSide) -> bool:
        """Whether both have the same files, to the character."""
        paths = self.documents.keys()
        return paths == other.documents.keys() and all(self.documents[path].text == other.documents[path].text for path in paths)

    @property
    def is_contract(self) -> bool:
        """Whether the files make a contract with operations, and are not just schemas."""
        return not self.is_plain and self.documents.keys() >= TABLE_FILES

    @cached_property
    def contract(self) -> Contract | None:
        """The contract as the generator understands it, as far as it does."""
        return assemble(self.documents)[0] if self.is_contract else None

    @cached_property
    def tree(self) -> SchemaTree:
        """The files that hold schemas, to be compared."""
        if self.agent is not None and not self.agent.has_schemas:
            return SchemaTree({}, self.display_prefix, self.documents)
        return SchemaTree(family_files(self.documents) if self.is_contract else self.documents, self.display_prefix, self.documents)

    def build_usage_map(self, default: frozenset[Usage]) -> UsageMap:
        """Say who uses which definition."""
        if self.contract is not None:
            return trace_usage(self.tree, find_operation_roots(self.tree, self.contract))
        if self.agent is not None:
            return trace_usage(self.tree, self._find_skill_roots(self.agent))
        return UsageMap(default=default)

    def _find_skill_roots(self, agent: AgentDescription) -> list[UsageRoot]:
        spots = [(skill.id, use, self._find_schema(address)) for skill in agent.skills.values() for use, address in skill.schemas.items()]
        return [UsageRoot(spot.location, Usage.WRITTEN if use == "output" else Usage.READ, identity) for identity, use, spot in spots if spot]

    def find_definition(self, dialect: str, name: str) -> SchemaLocation | None:
        """Find a type of a dialect."""
        return next((spot for at, spot in self.tree.definitions.items() if spot.name == name and at[0].rpartition("/")[0] == dialect), None)

    def find_node(self, address: str | None) -> SchemaNode | None:
        """Find the schema that an address means, such as ``schemas/trip.json#/$defs/Trip``."""
        spot = self._find_schema(address) if address else None
        return build_node(self.tree, [spot], origin=spot) if spot else None

    def _find_schema(self, address: str) -> SchemaLocation | None:
        file, _, pointer = address.partition("#")
        document = self.documents.get(posixpath.normpath(file))
        root = SchemaLocation(document.path, "", document.data) if document else None
        return root.descend(*(unescape_key(step) for step in pointer.split("/")[1:])) if root else None


# Where sides come from: a folder, a file, a commit, a lock, or the card of an agent that answers somewhere.
#
# ``a2a-gen.lock`` holds hashes and no schemas. As a baseline it means the files that it was committed with: those of the last commit that wrote it.
#

_PROJECT_FILE = "a2a.toml"
_MAX_CARD_BYTES = 10_000_000


@dataclass(frozen=True, slots=True)
class RevisionFolder:
    """Where the new side is, so that a ref can be asked for the same place: its folder, and whether its files are just schemas."""

    folder: Path
    is_plain: bool = False


def read_path(path: Path, *, is_plain: bool = False) -> ContractSide:
    """Read a folder, a card or a schema from the disk."""
    if path.is_dir():
        return build_side(read_folder(path), label=str(path), display_prefix=_to_display_path(path), is_plain=is_plain)
    if path.is_file():
        return build_side({path.name: path.read_bytes()}, label=str(path), display_prefix=_to_display_path(path.parent), is_plain=is_plain)
    raise BaselineError(f"there is no {path}", "name a folder of schemas, a card, a ref of Git or an address")


def read_baseline(baseline: str, home: RevisionFolder) -> tuple[ContractSide, ...]:
    """Read a baseline; a pattern of tags means every tag that it fits, the newest last."""
    if baseline.startswith(("http://", "https://")):
        return (_fetch_card(baseline),)
    path = Path(baseline)
    if path.name == LOCK:
        return (_read_lock(path, home),)
    if path.exists():
        return (read_path(path, is_plain=home.is_plain),)
    ref, colon, inside = baseline.partition(":")
    repository = find_repository(home.folder)
    if colon:
        return (_read_commit(ref, RevisionFolder(repository.root / inside, home.is_plain)),)
    if any(character in baseline for character in "*?["):
        tags = repository.list_tags(baseline)
        if not tags:
            raise BaselineError(f"no tag fits {baseline}", "git fetch --tags")
        return tuple(_read_commit(tag, home) for tag in tags)
    return (_read_commit(baseline, home),)


def build_side(blobs: Mapping[str, bytes], *, label: str, display_prefix: str = "", is_plain: bool = False) -> ContractSide:
    """Make a side of files: a contract, an agent's project, a card, or just schemas."""
    before = f"{display_prefix}/" if display_prefix else ""
    if _PROJECT_FILE in blobs and not is_plain:
        agent = agent_from_project(_PROJECT_FILE, _parse_toml(blobs[_PROJECT_FILE], before + _PROJECT_FILE))
        used = select_reachable(
            (address for skill in agent.skills.values() for address in skill.schemas.values()),
            *parse_readable_documents(blobs, display_prefix=before),
        )
        return ContractSide(
            {**used, _PROJECT_FILE: TomlDocument(_PROJECT_FILE, blobs[_PROJECT_FILE].decode("utf-8"), {})}, label, display_prefix, agent=agent
        )
    found: dict[str, Document] = parse_documents(blobs, display_prefix=before)
    if len(found) == 1 and not is_plain:
        path, document = next(iter(found.items()))
        if isinstance(document.data, dict) and isinstance(document.data.get("skills"), list):
            return ContractSide(found, label, display_prefix, agent=agent_from_card(path, document.data))
    return ContractSide(found, label, display_prefix, is_plain=is_plain or not found.keys() >= TABLE_FILES)


def _read_commit(ref: str, home: RevisionFolder) -> ContractSide:
    repository = find_repository(home.folder)
    commit = repository.resolve_commit(ref)
    folder = home.folder.resolve().relative_to(repository.root.resolve()).as_posix()
    return build_side(
        repository.read_files(commit, folder, is_contract_file), label=ref, display_prefix=_to_display_path(home.folder), is_plain=home.is_plain
    )


def _read_lock(path: Path, home: RevisionFolder) -> ContractSide:
    """Find the files that a lock describes: what is committed beside it, since the lock itself only holds their hashes."""
    if not path.is_file():
        raise BaselineError(f"there is no {path}", "a2a-gen build writes it; commit it with the contract")
    repository = find_repository(path.absolute().parent)
    name = path.resolve().relative_to(repository.root.resolve()).as_posix()
    commit = repository.find_last_change(name)
    if not commit:
        raise BaselineError(f"{path} holds only hashes, and no commit holds it", "commit it with the contract, or name a ref, a folder or a card")
    return _read_commit(commit, home)


def _fetch_card(address: str) -> ContractSide:
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
        if answer.is_success and len(answer.content) < _MAX_CARD_BYTES:
            return _parse_card(url, answer.content)
        said = f"status {answer.status_code}"
    raise BaselineError(f"there is no card at {address}: {said}", f"start the agent, or name its card itself: {urls[0]}")


def _parse_card(url: str, content: bytes) -> ContractSide:
    found = build_side({"agent-card.json": content}, label=url)
    if found.agent is None:
        raise BaselineError(f"what {url} answers is no card", "name the address of an agent's card")
    return found


def _parse_toml(blob: bytes, name: str) -> dict[str, Json]:
    try:
        data, _ = parse(json.dumps(tomllib.loads(blob.decode("utf-8")), default=str))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ProjectError(f"{name} is not TOML: {error}", "correct the text at this place") from None
    return data if isinstance(data, dict) else {}


def _to_display_path(folder: Path) -> str:
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

_STRING_SCHEMA = '{"type": "string"}'
_REMOTE_SURFACE = "its address"


def side_from_remote(remote: RemoteAgent, label: str, other: RemoteAgent) -> ContractSide:
    """Make a side of an agent that somebody else runs, to be compared with what was seen of it at another time."""
    served = {(each.skill, each.use): (each.file, each.document.decode("utf-8")) for each in remote.schemas}
    texts = {(each.skill, each.use): (each.file, _STRING_SCHEMA) for each in other.schemas if each.skill in dict(remote.skills)}
    card: dict[str, Json] = {**remote.card}
    documents = {CARD: Document(CARD, json.dumps(card, indent=2, ensure_ascii=False), {})}
    places: dict[str, dict[str, str]] = {}
    for (skill, use), (file, text) in {**texts, **served}.items():
        path = f"{SCHEMAS}/{file}"
        documents[path] = Document(path, text, parse(text)[0])
        places.setdefault(skill, {})[use] = path
    return ContractSide(documents, label, agent=_attach_schemas(agent_from_card(CARD, card), places))


def _attach_schemas(agent: AgentDescription, places: Mapping[str, Mapping[str, str]]) -> AgentDescription:
    skills = {name: replace(skill, schemas=places.get(name, {})) for name, skill in agent.skills.items()}
    bindings = frozenset(each for all_of_one in agent.surfaces.values() for each in all_of_one)
    return replace(agent, skills=skills, surfaces={_REMOTE_SURFACE: bindings})
