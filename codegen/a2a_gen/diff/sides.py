"""One side of a comparison: its files, the contract they form, or the agent they describe.

A side is read from a folder, a file, a commit, a lock, or the card of a running agent.
``a2a-gen.lock`` holds hashes and no schemas; as a baseline it stands for the last commit that wrote
it. A remote agent is represented by the files of its generated client, so places point to files
that change when the client is generated again; a skill without a schema takes and returns text, and
the URL of the agent is not compared.
"""

from __future__ import annotations

import json
import posixpath
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path

from a2a_gen.agent.remote.card import CARD, SCHEMAS, RemoteAgent
from a2a_gen.diff.agent import AgentDescription, agent_from_card, agent_from_project
from a2a_gen.diff.tree.closure import select_reachable
from a2a_gen.diff.tree.dynamic_references import follow_unique_anchors
from a2a_gen.diff.tree.schema_node import SchemaLocation, SchemaNode, SchemaTree, build_node
from a2a_gen.diff.usage import Usage, UsageMap, UsageRoot, find_operation_roots, trace_usage
from a2a_gen.ir.build import assemble, family_files
from a2a_gen.ir.model import Contract
from a2a_gen.output.lock import LOCK_FILE as LOCK
from a2a_gen.problems import MissingExtraError, ProjectError
from a2a_gen.source.documents import Document
from a2a_gen.source.git import BaselineError, Repository, find_repository
from a2a_gen.source.json_text import Json, parse, unescape_key
from a2a_gen.source.project import TABLE_FILES, TomlDocument, find_root
from a2a_gen.source.references import PROTOCOL_PREFIX, iter_references
from a2a_gen.source.revision_files import (
    is_contract_file,
    parse_documents,
    parse_readable_documents,
    read_folder,
)

_PROJECT_FILE = "a2a.toml"
_MAX_CARD_BYTES = 10_000_000
_STRING_SCHEMA = '{"type": "string"}'
_REMOTE_SURFACE = "its address"


@dataclass(frozen=True, eq=False)
class ContractSide:
    """The files of one side; ``label`` is its name in messages."""

    documents: Mapping[str, Document]
    label: str
    display_prefix: str = ""
    is_plain: bool = False
    agent: AgentDescription | None = None
    entry: str = ""
    """The file that stands for a document, where the others are there because it refers to them."""

    def has_same_text(self, other: ContractSide) -> bool:
        """Return true if both sides have identical files."""
        paths = self.documents.keys()
        return paths == other.documents.keys() and all(
            self.documents[path].text == other.documents[path].text for path in paths
        )

    @property
    def is_contract(self) -> bool:
        """True if the files form a contract with operations."""
        return not self.is_plain and self.documents.keys() >= TABLE_FILES

    @cached_property
    def contract(self) -> Contract | None:
        """The contract, as far as the generator can build it."""
        if self.is_contract:
            return assemble(self.documents)[0]
        return None

    @cached_property
    def tree(self) -> SchemaTree:
        """The schema files to compare."""
        if self.agent is not None and not self.agent.has_schemas:
            return SchemaTree({}, self.display_prefix, self.documents)
        documents = family_files(self.documents) if self.is_contract else self.documents
        return SchemaTree(
            follow_unique_anchors(documents), self.display_prefix, self.documents, entry=self.entry
        )

    def build_usage_map(self, default: frozenset[Usage]) -> UsageMap:
        """Compute the usages and users of every definition."""
        if self.contract is not None:
            return trace_usage(self.tree, find_operation_roots(self.tree, self.contract))
        if self.agent is not None:
            return trace_usage(self.tree, self._find_skill_roots(self.agent))
        return UsageMap(default=default)

    def _find_skill_roots(self, agent: AgentDescription) -> list[UsageRoot]:
        roots: list[UsageRoot] = []
        for skill in agent.skills.values():
            for use, address in skill.schemas.items():
                schema = self._find_schema(address)
                usage = Usage.WRITTEN if use == "output" else Usage.READ
                if schema:
                    roots.append(UsageRoot(schema.location, usage, skill.id))
        return roots

    def find_definition(self, dialect: str, name: str) -> SchemaLocation | None:
        """Find a type of a dialect."""
        schemas = self.tree.definitions.values()
        return next(
            (
                each
                for each in schemas
                if each.name == name and posixpath.dirname(each.file) == dialect
            ),
            None,
        )

    def find_node(self, address: str | None) -> SchemaNode | None:
        """Find the schema at an address such as ``schemas/trip.json#/$defs/Trip``."""
        schema = self._find_schema(address) if address else None
        if schema:
            return build_node(self.tree, [schema], origin=schema)
        return None

    def _find_schema(self, address: str) -> SchemaLocation | None:
        file, _, pointer = address.partition("#")
        document = self.documents.get(posixpath.normpath(file))
        root = SchemaLocation(document.path, "", document.data) if document else None
        if root:
            return root.descend(*(unescape_key(step) for step in pointer.split("/")[1:]))
        return None


@dataclass(frozen=True, slots=True)
class RevisionFolder:
    """The folder of the revision, or the one file in it, from which a baseline commit reads the
    same path.
    """

    folder: Path
    is_plain: bool = False
    file: str = ""


def read_path(path: Path, *, is_plain: bool = False) -> ContractSide:
    """Read a folder, a card or a schema from disk."""
    if path.is_dir():
        return build_side(
            read_folder(path),
            label=str(path),
            display_prefix=_to_display_path(path),
            is_plain=is_plain,
        )
    if path.is_file():
        prefix = _to_display_path(path.parent)
        side = build_side(
            {path.name: path.read_bytes()},
            label=str(path),
            display_prefix=prefix,
            is_plain=is_plain,
        )
        if side.agent:
            return side
        return _add_neighbours(side, path.name, lambda name: _read_file(path.parent / name))
    raise BaselineError(
        f"{path}: no such file or folder",
        "name a folder of schemas, a schema or a card; a Git ref can only be the base",
    )


def _read_file(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        # It is reported as a dangling reference, with its place.
        return None


def _add_neighbours(
    side: ContractSide, entry: str, read: Callable[[str], bytes | None]
) -> ContractSide:
    """Add the files that a single schema refers to, directly or not; ``read`` takes a path relative
    to its folder.
    """
    documents = dict(side.documents)
    pending = list(documents.values())
    while pending:
        for reference in iter_references(pending.pop()):
            if (
                not reference.is_remote
                and reference.file not in documents
                and not reference.file.startswith(PROTOCOL_PREFIX)
            ):
                blob = read(reference.file)
                if blob is None:
                    found = {}
                else:
                    found = parse_documents(
                        {reference.file: blob},
                        display_prefix=f"{side.display_prefix}/",
                        has_yaml=True,
                    )
                documents |= found
                pending += found.values()
    return replace(side, documents=documents, entry=entry)


def read_baseline(baseline: str, revision: RevisionFolder) -> tuple[ContractSide, ...]:
    """Read a baseline; a tag pattern yields every matching tag, the newest last."""
    if baseline.startswith(("http://", "https://")):
        return (_fetch_card(baseline),)
    path = Path(baseline)
    if path.name == LOCK:
        return (_read_lock(path, revision),)
    if path.exists():
        return (read_path(path, is_plain=revision.is_plain),)
    ref, colon, inside = baseline.partition(":")
    repository = find_repository(revision.folder)
    if colon:
        return (_read_commit(ref, RevisionFolder(repository.root / inside, revision.is_plain)),)
    if any(character in baseline for character in "*?["):
        tags = repository.list_tags(baseline)
        if not tags:
            raise BaselineError(f"{baseline}: no matching tag", "git fetch --tags")
        return tuple(_read_commit(tag, revision) for tag in tags)
    return (_read_commit(baseline, revision),)


def build_side(
    blobs: Mapping[str, bytes], *, label: str, display_prefix: str = "", is_plain: bool = False
) -> ContractSide:
    """Build a side from files: a contract, an agent project, a card, or plain schemas."""
    prefix = f"{display_prefix}/" if display_prefix else ""
    if _PROJECT_FILE in blobs and not is_plain:
        agent = agent_from_project(
            _PROJECT_FILE, _parse_toml(blobs[_PROJECT_FILE], prefix + _PROJECT_FILE)
        )
        reachable = select_reachable(
            chain.from_iterable(skill.schemas.values() for skill in agent.skills.values()),
            *parse_readable_documents(blobs, display_prefix=prefix),
        )
        project_file = TomlDocument(_PROJECT_FILE, blobs[_PROJECT_FILE].decode("utf-8"), {})
        return ContractSide(
            {**reachable, _PROJECT_FILE: project_file}, label, display_prefix, agent=agent
        )
    documents: dict[str, Document] = parse_documents(
        blobs, display_prefix=prefix, has_yaml=is_plain or len(blobs) == 1
    )
    _refuse_openapi(documents, prefix)
    if len(documents) == 1 and not is_plain:
        path, document = next(iter(documents.items()))
        if isinstance(document.data, dict) and isinstance(document.data.get("skills"), list):
            return ContractSide(
                documents, label, display_prefix, agent=agent_from_card(path, document.data)
            )
    return ContractSide(
        documents, label, display_prefix, is_plain=is_plain or not documents.keys() >= TABLE_FILES
    )


def _refuse_openapi(documents: Mapping[str, Document], prefix: str) -> None:
    """Refuse OpenAPI documents, of which a comparison of schemas would see nothing."""
    for path, document in documents.items():
        word = next(
            (
                each
                for each in ("openapi", "swagger")
                if isinstance(document.data, dict) and each in document.data
            ),
            "",
        )
        if word and isinstance(document.data, dict) and isinstance(document.data[word], str):
            raise ProjectError(
                f"{prefix}{path}: an OpenAPI document, not a JSON Schema",
                (
                    "compare OpenAPI documents with oasdiff, or write the schemas of components "
                    "to files of their own and compare those"
                ),
            )


def _read_commit(ref: str, revision: RevisionFolder) -> ContractSide:
    repository = find_repository(revision.folder)
    commit = repository.resolve_commit(ref)
    folder = revision.folder.resolve().relative_to(repository.root.resolve()).as_posix()
    if revision.file:
        return _read_committed_file(repository, (ref, commit), folder, revision)
    files = repository.read_files(commit, folder, is_contract_file)
    return build_side(
        files,
        label=ref,
        display_prefix=_to_display_path(revision.folder),
        is_plain=revision.is_plain,
    )


def _read_committed_file(
    repository: Repository, commit: tuple[str, str], folder: str, revision: RevisionFolder
) -> ContractSide:
    """Read one file of a commit, given with its name, and the files that it refers to."""

    def read(name: str) -> bytes | None:
        path = posixpath.normpath(posixpath.join(folder, name))
        inside, _, last = path.rpartition("/")
        return repository.read_files(commit[1], inside, lambda each: each == last).get(last)

    content = read(revision.file)
    blobs = {} if content is None else {revision.file: content}
    side = build_side(
        blobs,
        label=commit[0],
        display_prefix=_to_display_path(revision.folder),
        is_plain=revision.is_plain,
    )
    if side.agent:
        return side
    return _add_neighbours(side, revision.file, read)


def _read_lock(path: Path, revision: RevisionFolder) -> ContractSide:
    """Read the files that a lock describes from the commit that last wrote it, since the lock holds
    only hashes.
    """
    if not path.is_file():
        raise BaselineError(
            f"{path}: file does not exist",
            "run a2a-gen build, and commit the lock with the contract",
        )
    repository = find_repository(path.absolute().parent)
    name = path.resolve().relative_to(repository.root.resolve()).as_posix()
    commit = repository.find_last_change(name)
    if not commit:
        raise BaselineError(
            f"{path}: not committed, and a lock holds only hashes",
            "commit it with the contract, or name a ref, a folder or a card",
        )
    return _read_commit(commit, revision)


def _fetch_card(address: str) -> ContractSide:
    """Fetch the card of a running agent."""
    try:
        # httpx is an extra, and its import takes longer than most comparisons.
        import httpx  # noqa: PLC0415
    except ModuleNotFoundError:
        raise MissingExtraError("httpx", "client") from None

    if address.endswith(".json"):
        urls = [address]
    else:
        urls = [
            f"{address.rstrip('/')}/.well-known/{name}"
            for name in ("agent-card.json", "agent.json")
        ]
    reason = ""
    for url in urls:
        try:
            response = httpx.get(url, timeout=10, follow_redirects=False)
        except httpx.HTTPError as error:
            reason = str(error) or type(error).__name__
            continue
        if response.is_success and len(response.content) < _MAX_CARD_BYTES:
            return _parse_card(url, response.content)
        reason = f"status {response.status_code}"
    raise BaselineError(
        f"{address}: no agent card: {reason}",
        f"start the agent, or give the URL of its card: {urls[0]}",
    )


def _parse_card(url: str, content: bytes) -> ContractSide:
    side = build_side({"agent-card.json": content}, label=url)
    if side.agent is None:
        raise BaselineError(
            f"{url}: the response is not an agent card", "give the URL of an agent card"
        )
    return side


def _parse_toml(blob: bytes, name: str) -> dict[str, Json]:
    try:
        data, _ = parse(json.dumps(tomllib.loads(blob.decode("utf-8")), default=str))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ProjectError(
            f"{name}: invalid TOML: {error}", "correct the syntax at this place"
        ) from None
    if isinstance(data, dict):
        return data
    return {}


def _to_display_path(folder: Path) -> str:
    """Make a folder relative to the project root, or to the working directory outside of a
    project.
    """
    for base in (find_root(Path.cwd()) or Path.cwd(), Path.cwd()):
        if folder.resolve().is_relative_to(base.resolve()):
            path = folder.resolve().relative_to(base.resolve()).as_posix()
            if path == ".":
                return ""
            return path
    return folder.as_posix()


def side_from_remote(remote: RemoteAgent, label: str, other: RemoteAgent) -> ContractSide:
    """Build a side from a remote agent, for comparison with another state of it."""
    served = {
        (each.skill, each.use): (each.file, each.document.decode("utf-8"))
        for each in remote.schemas
    }
    texts = {
        (each.skill, each.use): (each.file, _STRING_SCHEMA)
        for each in other.schemas
        if each.skill in dict(remote.skills)
    }
    card: dict[str, Json] = {**remote.card}
    documents = {CARD: Document(CARD, json.dumps(card, indent=2, ensure_ascii=False), {})}
    places: dict[str, dict[str, str]] = {}
    for (skill, use), (file, text) in {**texts, **served}.items():
        path = f"{SCHEMAS}/{file}"
        documents[path] = Document(path, text, parse(text)[0])
        places.setdefault(skill, {})[use] = path
    return ContractSide(
        documents, label, agent=_attach_schemas(agent_from_card(CARD, card), places)
    )


def _attach_schemas(
    agent: AgentDescription, places: Mapping[str, Mapping[str, str]]
) -> AgentDescription:
    skills = {
        name: replace(skill, schemas=places.get(name, {})) for name, skill in agent.skills.items()
    }
    bindings = frozenset(chain.from_iterable(agent.surfaces.values()))
    return replace(agent, skills=skills, surfaces={_REMOTE_SURFACE: bindings})
