"""The files of a contract, read once: text, data, and the line of every value.

Only files of the contract are read: ``examples`` are for tests, and a link that leads out of the folder is refused, because whoever builds a contract
may have it from someone else. Everything wrong with any file is reported at once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from a2a_gen.problems import ContractError, Place, Problem
from a2a_gen.source import json_text
from a2a_gen.source.json_text import Json, ParseProblem, parse

_SKIPPED_FOLDERS = frozenset({"examples"})

# The form of a file by its ending. A contract is written in JSON; skills' schemas may be in YAML too, and are read elsewhere.
_PARSERS: Mapping[str, Callable[[str], tuple[Json, tuple[ParseProblem, ...]]]] = MappingProxyType({".json": parse})


@dataclass(frozen=True)
class Document:
    """One file of a contract; its path is relative to the contract's folder, with slashes on every system."""

    path: str
    text: str
    data: Json

    @cached_property
    def lines(self) -> Mapping[str, int]:
        """The line of every value, by its JSON pointer; found when it is first asked for."""
        return json_text.find_line_numbers(self.text)

    def place_at(self, pointer: str = "") -> Place:
        """Say where in this file a value stands; what is not there stands where it is missing."""
        known = pointer
        while known and known not in self.lines:
            known = known.rpartition("/")[0]
        return Place(self.path, self.lines.get(known, 1), pointer)


def load_documents(root: Path) -> Mapping[str, Document]:
    """Read every file of a contract, by path and sorted; raise one ``ContractError`` with everything that is wrong."""
    if not root.is_dir():
        cure = "create it, or correct `schema` in the project's configuration"
        raise ContractError([Problem(Place("."), "A2A-S01", "there is no such folder", cure)])
    problems: list[Problem] = []
    documents: dict[str, Document] = {}
    for file in find_contract_files(root):
        path = file.relative_to(root).as_posix()
        text = _read_text(root, file, path)
        if isinstance(text, Problem):
            problems.append(text)
            continue
        data, mistakes = _PARSERS[file.suffix](text)
        documents[path] = Document(path, text, data)
        problems.extend(Problem(Place(path, each.line, each.pointer), each.rule, each.text, each.cure) for each in mistakes)
    if problems:
        raise ContractError(problems)
    return dict(sorted(documents.items()))


def find_contract_files(folder: Path) -> Iterator[Path]:
    """Find the files of a contract, without reading them."""
    for entry in folder.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            if entry.name not in _SKIPPED_FOLDERS and not entry.name.startswith("."):
                yield from find_contract_files(entry)
        elif entry.suffix in _PARSERS or entry.is_symlink():
            yield entry


def _read_text(root: Path, file: Path, path: str) -> str | Problem:
    if file.is_symlink() and not file.resolve().is_relative_to(root.resolve()):
        return Problem(Place(path), "A2A-S02", "this link leads out of the contract's folder", "put the file itself here instead of a link")
    try:
        return file.read_bytes().decode("utf-8")
    except OSError as error:
        return Problem(Place(path), "A2A-S03", f"the file cannot be read: {error.strerror}", "make it a file that you may read, or delete it")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        return Problem(Place(path, line), "A2A-S04", f"byte {error.start} is not UTF-8", "save the file in UTF-8")


# Documents from bytes, wherever they were read: a folder, a commit, an answer from the network.

_SKIPPED_REVISION_FOLDERS = frozenset({"examples", "node_modules"})
_PROJECT_FILES = frozenset({"a2a.toml"})
_JSON, _YAML = ".json", (".yaml", ".yml")


def is_contract_file(path: str) -> bool:
    """Whether a file may belong to a contract or an agent: examples, hidden folders and other people's packages do not."""
    *folders, name = PurePosixPath(path).parts
    known = name.endswith((_JSON, *_YAML)) or name in _PROJECT_FILES
    return known and not any(_is_hidden(part) for part in (*folders, name))


def read_folder(folder: Path) -> dict[str, bytes]:
    """Read the files below a folder that may belong to a contract or an agent."""
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in _walk_files(folder) if is_contract_file(file.name) and file.is_file()}


def parse_documents(blobs: Mapping[str, bytes], *, display_prefix: str = "") -> dict[str, Document]:
    """Read the JSON files among some files, or raise everything that is wrong with them; ``shown`` stands before paths in messages."""
    found, problems = parse_readable_documents({path: blob for path, blob in blobs.items() if path.endswith(_JSON)}, display_prefix=display_prefix)
    if problems:
        raise ContractError([problem for each in problems.values() for problem in each])
    return found


def parse_readable_documents(blobs: Mapping[str, bytes], *, display_prefix: str = "") -> tuple[dict[str, Document], dict[str, list[Problem]]]:
    """Read the files in JSON and YAML that can be read, and say what is wrong with each of the others."""
    found: dict[str, Document] = {}
    problems: dict[str, list[Problem]] = {}
    for path, blob in sorted(blobs.items()):
        if is_contract_file(path) and path not in _PROJECT_FILES:
            read = _parse_document(path, blob, f"{display_prefix}{path}")
            if isinstance(read, Document):
                found[path] = read
            else:
                problems[path] = read
    return found, problems


def _parse_document(path: str, blob: bytes, name: str) -> Document | list[Problem]:
    try:
        text = blob.decode("utf-8")
    except UnicodeDecodeError as error:
        return [Problem(Place(name), "A2A-S04", f"byte {error.start} is not UTF-8", "save the file in UTF-8")]
    if path.endswith(_YAML):
        from a2a_gen.source import yaml_text  # noqa: PLC0415 - an extra that only those need who write YAML

        data, mistakes = yaml_text.parse(text)
        document: Document = yaml_text.YamlDocument(path, text, data)
    else:
        data, mistakes = parse(text)
        document = Document(path, text, data)
    return [Problem(Place(name, each.line, each.pointer), each.rule, each.text, each.cure) for each in mistakes] or document


def _walk_files(folder: Path) -> Iterator[Path]:
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not _is_hidden(name)]
        yield from (Path(parent, name) for name in names)


def _is_hidden(name: str) -> bool:
    return name.startswith(".") or name in _SKIPPED_REVISION_FOLDERS
