"""Documents of a contract: text, data, and the line of every value.

``load_documents`` reads the folder of a contract for a build. ``examples`` are skipped, and a link that leads out of the folder is refused, because
the contract may come from an untrusted source. ``parse_documents`` reads files that are already in memory: from a folder, a commit or a response.
Problems of all files are reported at once.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

from a2a_gen.problems import ContractError, Place, Problem
from a2a_gen.source import json_text
from a2a_gen.source.json_text import Json, parse

_SKIPPED_FOLDERS = frozenset({"examples"})
_SKIPPED_REVISION_FOLDERS = frozenset({"examples", "node_modules"})

# A contract is JSON; schemas of skills may also be YAML.
_JSON, _YAML = ".json", (".yaml", ".yml")
_PROJECT_FILES = frozenset({"a2a.toml"})


@dataclass(frozen=True)
class Document:
    """One file of a contract; its path is relative to the folder of the contract, with slashes on every system."""

    path: str
    text: str
    data: Json

    @cached_property
    def lines(self) -> Mapping[str, int]:
        """The line of every value by JSON pointer, computed on first use."""
        return json_text.find_line_numbers(self.text)

    def place_at(self, pointer: str = "") -> Place:
        """Return the place of a value; a missing value has the place of its nearest parent."""
        known = pointer
        while known and known not in self.lines:
            known = known.rpartition("/")[0]
        return Place(self.path, self.lines.get(known, 1), pointer)


def load_documents(root: Path) -> Mapping[str, Document]:
    """Read every file of a contract, sorted by path; raise one ``ContractError`` with every problem."""
    if not root.is_dir():
        cure = "create it, or correct `schema` in the project configuration"
        raise ContractError([Problem(Place("."), "A2A-S01", "the folder does not exist", cure)])
    problems: list[Problem] = []
    documents: dict[str, Document] = {}
    for file in find_contract_files(root):
        path = file.relative_to(root).as_posix()
        text = _read_text(root, file, path)
        if isinstance(text, Problem):
            problems.append(text)
            continue
        data, parse_problems = parse(text)
        documents[path] = Document(path, text, data)
        problems.extend(each.in_file(path) for each in parse_problems)
    if problems:
        raise ContractError(problems)
    return dict(sorted(documents.items()))


def find_contract_files(folder: Path) -> Iterator[Path]:
    """List the files of a contract without reading them."""
    for entry in folder.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            if entry.name not in _SKIPPED_FOLDERS and not entry.name.startswith("."):
                yield from find_contract_files(entry)
        elif entry.suffix == _JSON or entry.is_symlink():
            yield entry


def _read_text(root: Path, file: Path, path: str) -> str | Problem:
    if file.is_symlink() and not file.resolve().is_relative_to(root.resolve()):
        return Problem(Place(path), "A2A-S02", "the link leads out of the contract folder", "replace the link by the file")
    try:
        return _decode(file.read_bytes(), path)
    except OSError as error:
        return Problem(Place(path), "A2A-S03", f"the file cannot be read: {error.strerror}", "correct its permissions, or delete it")


def _decode(content: bytes, path: str) -> str | Problem:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        return Problem(Place(path, line), "A2A-S04", f"byte {error.start} is not UTF-8", "save the file as UTF-8")


def is_contract_file(path: str) -> bool:
    """Return true if a file may belong to a contract or an agent; examples, hidden folders and vendored packages do not."""
    *folders, name = PurePosixPath(path).parts
    has_known_name = name.endswith((_JSON, *_YAML)) or name in _PROJECT_FILES
    return has_known_name and not any(_is_hidden(part) for part in (*folders, name))


def read_folder(folder: Path) -> dict[str, bytes]:
    """Read the files below a folder that may belong to a contract or an agent."""
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in _walk_files(folder) if is_contract_file(file.name) and file.is_file()}


def parse_documents(blobs: Mapping[str, bytes], *, display_prefix: str = "") -> dict[str, Document]:
    """Parse JSON files or raise every problem; ``display_prefix`` stands before paths in messages."""
    json_blobs = {path: blob for path, blob in blobs.items() if path.endswith(_JSON)}
    documents, problems = parse_readable_documents(json_blobs, display_prefix=display_prefix)
    if problems:
        raise ContractError([problem for each in problems.values() for problem in each])
    return documents


def parse_readable_documents(blobs: Mapping[str, bytes], *, display_prefix: str = "") -> tuple[dict[str, Document], dict[str, list[Problem]]]:
    """Parse JSON and YAML files; return the valid documents, and the problems of the other files."""
    documents: dict[str, Document] = {}
    problems: dict[str, list[Problem]] = {}
    for path, blob in sorted(blobs.items()):
        if is_contract_file(path) and path not in _PROJECT_FILES:
            result = _parse_document(path, blob, f"{display_prefix}{path}")
            if isinstance(result, Document):
                documents[path] = result
            else:
                problems[path] = result
    return documents, problems


def _parse_document(path: str, blob: bytes, name: str) -> Document | list[Problem]:
    text = _decode(blob, name)
    if isinstance(text, Problem):
        return [text]
    if path.endswith(_YAML):
        from a2a_gen.source import yaml_text  # noqa: PLC0415 - an extra, only needed for YAML

        data, problems = yaml_text.parse(text)
        document: Document = yaml_text.YamlDocument(path, text, data)
    else:
        data, problems = parse(text)
        document = Document(path, text, data)
    return [each.in_file(name) for each in problems] or document


def _walk_files(folder: Path) -> Iterator[Path]:
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not _is_hidden(name)]
        yield from (Path(parent, name) for name in names)


def _is_hidden(name: str) -> bool:
    return name.startswith(".") or name in _SKIPPED_REVISION_FOLDERS
